// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/block.h"
#include "manifest/entry.h"
#include "manifest/header.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::manifest {

class Cursor;

/// A manifest that is read. Opening it reads its header alone; each block is checked when it is
/// read first, and some of those read last are kept. An open manifest stays as it is when
/// another file takes its name. Reads may block on the disk. Not thread-safe.
///
/// Errors of all reads: kCorrupt (damaged or cut off), kSystem; both name the file and say to make
/// the manifest again.
class Manifest {
 public:
  /// Errors: kNotFound, kUnsupported (not a manifest of this version), kCorrupt (damaged, or its
  /// length is wrong), kSystem.
  [[nodiscard]] static Result<std::unique_ptr<Manifest>> open(const std::string& path);
  /// Of a file that is open. @param name  for messages
  [[nodiscard]] static Result<std::unique_ptr<Manifest>> read(UniqueFd file, std::string name);

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Whether it has the names of this mount: the same bucket on one of the same servers, and a
  /// prefix that is not narrower. Errors: kConfig, which says what differs.
  [[nodiscard]] Result<void> check_covers(const Origin& wanted) const;

  /// The entry of this key, if there is one.
  [[nodiscard]] Result<std::optional<Entry>> find(const std::string& key);
  /// Before the first entry whose key is not less than `key`. The manifest must outlive it.
  [[nodiscard]] Result<Cursor> seek(std::string_view key);

  /// Reads everything: each checksum, the order of all keys, and that the header counts right.
  [[nodiscard]] Result<void> verify();

 private:
  friend class Cursor;
  using BlockPointer = std::shared_ptr<const Block>;
  /// 1 MiB: the first halvings of every search, and where the readers are.
  static constexpr std::size_t kBlocksKept = 64;
  struct Kept {
    std::uint64_t number = 0;
    BlockPointer block;
  };

  Manifest(UniqueFd file, std::string name, Header header);
  [[nodiscard]] Result<BlockPointer> block(std::uint64_t number);
  [[nodiscard]] Result<BlockPointer> read_block(std::uint64_t number) const;
  /// The last block whose first key is not greater than `key`, or the first block.
  [[nodiscard]] Result<std::uint64_t> block_of(std::string_view key);

  const UniqueFd file_;
  const std::string name_;
  const Header header_;
  std::array<Kept, kBlocksKept> kept_;  ///< a block has one place: its number modulo their count
};

/// A position in a manifest. Movable.
class Cursor {
 public:
  /// The entry at this position; nullptr at the end. Valid until the cursor moves.
  [[nodiscard]] const Entry* entry() const { return is_at_end_ ? nullptr : &entry_; }
  /// Moves to the next entry. Not at the end. Errors: as Manifest.
  [[nodiscard]] Result<void> advance();

 private:
  friend class Manifest;
  explicit Cursor(Manifest& manifest) : manifest_(&manifest) {}
  [[nodiscard]] Result<void> enter(std::uint64_t number);

  Manifest* manifest_;
  std::uint64_t number_ = 0;  ///< of the block
  std::shared_ptr<const Block> block_;
  std::optional<Block::Records> records_;
  Entry entry_;
  bool is_at_end_ = false;
};

}  // namespace s3rdmafs::manifest
