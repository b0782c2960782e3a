// SPDX-License-Identifier: Apache-2.0
// One block of a manifest: records sorted by key, front-coded, with a checksum. The format is
// described in s3rdmafs-manifest(5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "manifest/entry.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::manifest {

inline constexpr std::size_t kBlockBytes = 16'384;
using BlockBytes = std::array<std::byte, kBlockBytes>;

/// Whether a manifest can hold the entry. Errors: kInvalidArgument, which names the key.
[[nodiscard]] Result<void> check_entry(const Entry& entry);

/// Fills a block with entries in ascending order of keys. Not thread-safe.
class BlockBuilder {
 public:
  /// False if the block has no room for the entry, which any empty block has. The key must be
  /// greater than the one before, and check_entry() must have passed.
  [[nodiscard]] bool add(const Entry& entry);
  [[nodiscard]] bool is_empty() const { return records_ == 0; }

  /// The finished block, valid until the next call; this then builds the next one.
  /// @param number  of the block in its file, from 1 on
  [[nodiscard]] std::span<const std::byte> finish(std::uint64_t number);

 private:
  BlockBytes bytes_{};
  std::size_t used_ = 0;  ///< of the records' room
  std::uint32_t records_ = 0;
  std::string last_key_;
};

/// A block that was read from a file, whose checksum is right. Immutable.
class Block {
 public:
  /// Reads one record after another; borrows the block.
  class Records {
   public:
    explicit Records(const Block& block) : block_(&block) {}
    /// The next entry; false at the end of the block. `entry` is overwritten, so that its
    /// strings are reused. Errors: kCorrupt.
    [[nodiscard]] Result<bool> next(Entry& entry);

   private:
    const Block* block_;
    std::size_t at_ = 0;
    std::uint32_t passed_ = 0;
    std::string key_;  ///< of the record before
  };

  /// Checks the header and the checksum. Errors: kCorrupt.
  [[nodiscard]] static Result<std::shared_ptr<const Block>> check(std::unique_ptr<BlockBytes> bytes,
                                                                  std::uint64_t number);

  /// Whole, as each block begins; borrowed. Errors: kCorrupt.
  [[nodiscard]] Result<std::string_view> first_key() const;
  [[nodiscard]] Records records() const { return Records(*this); }
  [[nodiscard]] std::uint64_t checksum() const;

 private:
  Block(std::unique_ptr<BlockBytes> bytes, std::uint64_t number);

  const std::unique_ptr<BlockBytes> bytes_;
  const std::uint64_t number_;
  std::span<const std::byte> room_;  ///< of the records
  std::uint32_t count_ = 0;
};

/// The checksum that a block or a header begins with: of all bytes after it.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> block);

}  // namespace s3rdmafs::manifest
