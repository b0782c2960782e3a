// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::disk {

/// Objects are divided into chunks of this size, the last one shorter: the largest run of bytes
/// that lies in one piece on the disk. Long enough that a disk is at its best, and half of the
/// longest GET of the memory cache, so that the write buffer holds a good number of them.
inline constexpr std::uint64_t kChunkBytes = 4 * kMiB;

/// Positions on the disk, and lengths of transfers by O_DIRECT, are multiples of this: no block of
/// a common device is larger.
inline constexpr std::uint64_t kDiskBlockBytes = 4 * kKiB;

/// One version of one object in one bucket, as the first half of a SHA-256: no user can make
/// another object that looks the same.
using ObjectId = std::array<std::uint64_t, 2>;

/// @param scope  names the server and the bucket; no NUL in any of the three
[[nodiscard]] ObjectId object_id(std::string_view scope, std::string_view key,
                                 std::string_view etag);

struct ChunkId {
  ObjectId object{};
  std::uint32_t number = 0;  ///< it begins at number * kChunkBytes of the object

  friend bool operator==(const ChunkId&, const ChunkId&) = default;
};

/// An ObjectId is already a good hash.
struct ChunkIdHash {
  [[nodiscard]] std::size_t operator()(const ChunkId& id) const noexcept {
    return id.object[0] + id.number;
  }
};

/// [begin, end) of a chunk, in bytes.
struct ChunkRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::uint32_t length() const noexcept { return end - begin; }
};

/// Units that the range touches; its begin is the begin of the first.
[[nodiscard]] constexpr std::size_t unit_count(std::uint64_t length_bytes) noexcept {
  return (length_bytes + kUnitBytes - 1) / kUnitBytes;
}

/// The part of an object's range that lies in one chunk.
struct ChunkPart {
  ChunkId chunk;
  ChunkRange range;
  std::uint64_t offset_bytes = 0;  ///< from the range's begin
};

/// The parts of [offset, offset + length), in order.
[[nodiscard]] std::vector<ChunkPart> chunk_parts(const ObjectId& object, std::uint64_t offset_bytes,
                                                 std::uint64_t length_bytes);

}  // namespace s3rdmafs::disk
