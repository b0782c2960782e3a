// SPDX-License-Identifier: Apache-2.0
// What BlockCache keeps: objects, their blocks, and the reads that wait for them. Plain data, all
// of it guarded by BlockCache's lock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cache/block_pool.h"
#include "cache/read_ahead.h"
#include "cache/read_cache.h"
#include "cache/unit_mask.h"

namespace s3rdmafs::cache {

/// The least that is ever fetched and the grain of what is known to be there: a random 4 KiB read
/// costs 64 KiB of transfer.
inline constexpr std::uint64_t kUnitBytes = 64 * kKiB;
static_assert(block_bytes(BlockClass::k8MiB) / kUnitBytes == kUnitsMax);

struct Block;

/// Names a block within its object: the number-th of its class.
struct BlockName {
  BlockClass block_class{};
  std::uint64_t number = 0;
  [[nodiscard]] bool operator==(const BlockName&) const = default;
};
struct BlockNameHash {
  [[nodiscard]] std::size_t operator()(const BlockName& name) const noexcept {
    return name.number * kBlockClasses + static_cast<std::size_t>(name.block_class);
  }
};

/// One version of one object: what its blocks and streams hang on. Kept while it has either.
struct CachedObject {
  explicit CachedObject(ObjectVersion object_version)
      : version(std::move(object_version)),
        block_class(block_class_for(version.size_bytes)),
        streams(version.size_bytes) {}

  const ObjectVersion version;
  const BlockClass block_class;  ///< what streams fill; fragments are smaller
  ReadAhead streams;
  std::unordered_map<BlockName, std::shared_ptr<Block>, BlockNameHash> blocks;
  std::size_t readers = 0;
};

struct PendingRead;

/// A block's memory and what is in it. The index (CachedObject::blocks) holds it, and so does each
/// pin and fill: a block that was taken out of the index lives until the last of them is done.
struct Block {
  std::shared_ptr<CachedObject> object;
  BlockName name;
  BlockPlace place;
  UnitMask valid = 0;         ///< bytes are there
  UnitMask filling = 0;       ///< a fill is under way; never overlaps valid
  UnitMask read = 0;          ///< somebody has read it
  std::uint64_t read_to = 0;  ///< where the last read of it ended, in the object
  std::chrono::steady_clock::time_point first_read;
  std::vector<std::shared_ptr<PendingRead>> waiters;

  [[nodiscard]] std::uint64_t size_bytes() const { return block_bytes(name.block_class); }
  [[nodiscard]] std::uint64_t object_offset() const { return name.number * size_bytes(); }

  /// The units that `range` of the object touches.
  [[nodiscard]] UnitMask units_of(ByteRange range) const {
    const std::uint64_t begin = std::max(range.begin, object_offset()) - object_offset();
    const std::uint64_t end = std::min(range.end - object_offset(), size_bytes());
    return unit_mask(begin / kUnitBytes, (end + kUnitBytes - 1) / kUnitBytes);
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
  bool is_step = false;   ///< of a stream
  unsigned restarts = 0;  ///< after a late write became possible; bounded by kRestartsMax
  bool waits = false;     ///< counted in the gauge of waiting reads
};

}  // namespace s3rdmafs::cache
