// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "disk/index_record.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::disk {

/// A segment's two files: `segment-N.data` has bytes of chunks, one after the other, and
/// `segment-N.index` a record for each. Thread-safe for reads; one thread appends.
class SegmentFile {
 public:
  /// Makes segment `number` with all the room it will ever take. Errors: kNoMemory (the file system
  /// or a quota is full), kNotFound (the folder is gone), kSystem; then no file is left.
  [[nodiscard]] static Result<std::unique_ptr<SegmentFile>> create(int folder, std::uint32_t number,
                                                                   std::uint64_t size_bytes);
  /// Opens one that a process made before. Errors: kNotFound (one of the two is not there),
  /// kCorrupt (not in our format), kSystem.
  [[nodiscard]] static Result<std::unique_ptr<SegmentFile>> open(int folder, std::uint32_t number);
  /// Removes the files of segment `number`, as far as they are there.
  static void remove(int folder, std::uint32_t number) noexcept;
  /// The number in the name of one of a segment's files; nothing for any other name.
  [[nodiscard]] static std::optional<std::uint32_t> number_in(std::string_view name);

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// The largest index file of a segment of this size: room for a record of each unit.
  [[nodiscard]] static constexpr std::uint64_t index_bytes_max(std::uint64_t size_bytes) noexcept {
    return size_bytes / 1024;
  }
  /// Whether the file system took O_DIRECT: then positions, lengths and memory of transfers must be
  /// multiples of kDiskBlockBytes.
  [[nodiscard]] bool is_direct() const noexcept { return is_direct_; }

  /// Reads all records that are whole, in order; the rest after the first broken one is void.
  [[nodiscard]] Result<std::vector<IndexRecord>> read_index() const;

  /// @return kCorrupt where the file ends too early
  [[nodiscard]] Result<void> read(std::uint64_t position_bytes, std::span<std::byte> into) const;
  /// @return kNoMemory where the file system or a quota is full
  [[nodiscard]] Result<void> write(std::uint64_t position_bytes, std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> write_index(std::uint64_t position_bytes,
                                         std::span<const std::byte> bytes);
  /// The rest after that is void and must not be found by a later start.
  [[nodiscard]] Result<void> cut_index(std::uint64_t size_bytes);

 private:
  SegmentFile(UniqueFd data, UniqueFd index, std::uint64_t size_bytes, bool is_direct)
      : data_(std::move(data)),
        index_(std::move(index)),
        size_bytes_(size_bytes),
        is_direct_(is_direct) {}

  const UniqueFd data_;
  const UniqueFd index_;
  const std::uint64_t size_bytes_;
  const bool is_direct_;
};

}  // namespace s3rdmafs::disk
