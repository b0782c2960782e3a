// SPDX-License-Identifier: Apache-2.0
// What BlockCache keeps: objects, their blocks, and the reads that wait for them. Plain data, all
// of it guarded by BlockCache's lock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cache/block_pool.h"
#include "cache/read_ahead.h"
#include "cache/read_cache.h"

namespace s3rdmafs::cache {

/// The least that is ever fetched and the grain of what is known to be there: a random 4 KiB read
/// costs 64 KiB of transfer, and a 4 MiB block's state is one 64-bit word.
inline constexpr std::uint64_t kUnitBytes = 64 * kKiB;
static_assert(block_bytes(BlockClass::k4MiB) / kUnitBytes == 64);

/// One bit a unit of a block, unit 0 lowest.
using UnitMask = std::uint64_t;

/// Units [first, last) of a block.
[[nodiscard]] constexpr UnitMask unit_mask(std::uint64_t first, std::uint64_t last) noexcept {
  const UnitMask below_last = last >= 64 ? ~UnitMask{0} : (UnitMask{1} << last) - 1;
  const UnitMask below_first = (UnitMask{1} << first) - 1;
  return below_last & ~below_first;
}

struct Block;

/// One version of one object: what its blocks and streams hang on. Kept while it has either.
struct CachedObject {
  explicit CachedObject(ObjectVersion object_version)
      : version(std::move(object_version)),
        block_class(block_class_for(version.size_bytes)),
        streams(version.size_bytes) {}

  const ObjectVersion version;
  const BlockClass block_class;
  ReadAhead streams;
  std::unordered_map<std::uint64_t, std::shared_ptr<Block>> blocks;  // by number
  std::size_t readers = 0;
};

struct PendingRead;

/// A block's memory and what is in it. The index (CachedObject::blocks) holds it, and so does each
/// pin and fill: a block that was taken out of the index lives until the last of them is done.
struct Block {
  std::shared_ptr<CachedObject> object;
  std::uint64_t number = 0;  ///< offset in the object is number * block_bytes(class)
  BlockPlace place;
  UnitMask valid = 0;         ///< bytes are there
  UnitMask filling = 0;       ///< a fill is under way; never overlaps valid
  UnitMask read = 0;          ///< somebody has read it
  std::uint64_t read_to = 0;  ///< where the last read of it ended, in the object
  std::chrono::steady_clock::time_point first_read;
  std::vector<std::shared_ptr<PendingRead>> waiters;

  [[nodiscard]] std::uint64_t object_offset() const {
    return number * block_bytes(object->block_class);
  }
};

/// A read that found something missing.
struct PendingRead {
  struct Part {
    std::shared_ptr<Block> block;  ///< pinned
    UnitMask needed = 0;
  };

  std::shared_ptr<CachedObject> object;
  ByteRange range;  ///< not empty, inside the object, over at most two blocks
  Deadline deadline;
  Done<PinnedBytes> done;
  std::array<Part, PinnedBytes::kPiecesMax> parts;
  std::size_t part_count = 0;
  unsigned restarts = 0;  ///< after a late write became possible; bounded by kRestartsMax
  bool waits = false;     ///< counted in the gauge of waiting reads
};

}  // namespace s3rdmafs::cache
