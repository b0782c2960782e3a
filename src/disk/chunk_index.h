// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "disk/chunk.h"

namespace s3rdmafs::disk {

/// Bytes of a chunk that lie in one piece in one segment.
struct Extent {
  ChunkRange range;  ///< begins at a unit
  std::uint32_t segment = 0;
  std::uint32_t first_checksum = 0;  ///< in the segment's list; one a unit from there on
  std::uint64_t position_bytes = 0;  ///< in the segment
};

/// Where chunks are: in memory, rebuilt at each start. Thread-bound.
/// Cost: 100 bytes an extent.
class ChunkIndex {
 public:
  /// Adds an extent, instead of those that it makes superfluous.
  void add(const ChunkId& chunk, const Extent& extent);

  /// The extents that together hold `range`, in order; each holds the bytes from where the one
  /// before it ends. Nothing where a byte is missing.
  [[nodiscard]] std::optional<std::vector<Extent>> find(const ChunkId& chunk,
                                                        ChunkRange range) const;

  /// Takes out one extent, where it is still there.
  void remove(const ChunkId& chunk, const Extent& extent);
  /// Takes out the extents of these chunks in `segment`.
  void remove_segment(std::uint32_t segment, std::span<const ChunkId> chunks);

  [[nodiscard]] std::size_t size() const noexcept { return extents_.size(); }

 private:
  template <class Condition>
  void erase_if(const ChunkId& chunk, Condition condition);

  std::unordered_multimap<ChunkId, Extent, ChunkIdHash> extents_;
};

}  // namespace s3rdmafs::disk
