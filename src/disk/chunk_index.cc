// SPDX-License-Identifier: Apache-2.0
#include "disk/chunk_index.h"

namespace s3rdmafs::disk {

template <class Condition>
void ChunkIndex::erase_if(const ChunkId& chunk, Condition condition) {
  auto [at, end] = extents_.equal_range(chunk);
  while (at != end) at = condition(at->second) ? extents_.erase(at) : std::next(at);
}

void ChunkIndex::add(const ChunkId& chunk, const Extent& extent) {
  erase_if(chunk, [&](const Extent& old) {
    return old.range.begin >= extent.range.begin && old.range.end <= extent.range.end;
  });
  extents_.emplace(chunk, extent);
}

// A chunk has one extent mostly, and 64 at most that are not superfluous: one a unit.
std::optional<std::vector<Extent>> ChunkIndex::find(const ChunkId& chunk, ChunkRange range) const {
  const auto [begin, end] = extents_.equal_range(chunk);
  std::vector<Extent> found;
  for (std::uint32_t at = range.begin; at < range.end; at = found.back().range.end) {
    const Extent* best = nullptr;
    for (auto it = begin; it != end; ++it) {
      const Extent& extent = it->second;
      if (extent.range.begin > at || extent.range.end <= at) continue;
      if (best == nullptr || extent.range.end > best->range.end) best = &extent;
    }
    if (best == nullptr) return std::nullopt;
    found.push_back(*best);
  }
  return found;
}

void ChunkIndex::remove(const ChunkId& chunk, const Extent& extent) {
  erase_if(chunk, [&](const Extent& old) {
    return old.segment == extent.segment && old.position_bytes == extent.position_bytes;
  });
}

void ChunkIndex::remove_segment(std::uint32_t segment, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) {
    erase_if(chunk, [&](const Extent& old) { return old.segment == segment; });
  }
}

}  // namespace s3rdmafs::disk
