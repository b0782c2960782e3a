// SPDX-License-Identifier: Apache-2.0
// What BlockCache holds: objects and their blocks.
//
// Two locks guard it: BlockCache's, and after it each object's own, the only one that a hit takes.
// There are three kinds of data:
//   [both]   is changed under both locks, so it may be read under either: what a hit looks up
//   [object] is read and changed under the object's lock: what a hit changes
//   the rest is guarded by BlockCache's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cache/blocks/block_pool.h"
#include "cache/blocks/unit_mask.h"
#include "cache/read_cache.h"
#include "cache/readahead/read_ahead.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::cache {

static_assert(block_bytes(BlockClass::k8MiB) / kUnitBytes == kUnitsMax);

struct Block;

/// Names a block within its object: block `number` of its class.
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

/// The numbers [first, last) of the blocks of one class that a range touches.
struct BlockNumbers {
  BlockNumbers(BlockClass block_class, ByteRange range)
      : first(range.begin / block_bytes(block_class)),
        last((range.end + block_bytes(block_class) - 1) / block_bytes(block_class)) {}
  std::uint64_t first;
  std::uint64_t last;
};

/// Objects of one block of at most this class are fetched whole by the first read: that takes no
/// longer than the round trip that a second read would cost.
inline constexpr BlockClass kWholeUpTo = BlockClass::k512KiB;

/// One version of one object, with its blocks and streams. The index holds it while it has readers
/// or blocks.
struct CachedObject {
  explicit CachedObject(ObjectVersion object_version)
      : version(std::move(object_version)),
        block_class(block_class_for(version.size_bytes)),
        streams(version.size_bytes) {}

  /// The class of fragments for a read that is not a step of a stream: two of them hold the read.
  /// The object's own class where it has no fragments.
  [[nodiscard]] BlockClass fragment_class(ByteRange range) const {
    if (block_class <= kWholeUpTo) return block_class;
    return std::min(block_class_for(range.size()), block_class);
  }

  const ObjectVersion version;
  const BlockClass block_class;         ///< what streams fill; fragments are smaller
  std::atomic<std::size_t> readers{0};  ///< changed under BlockCache's lock

  Mutex mutex;                                                                  // lock order 3b
  ReadAhead streams GUARDED_BY(mutex);                                          // [object]
  std::unordered_map<BlockName, std::shared_ptr<Block>, BlockNameHash> blocks;  // [both]
};

struct PendingRead;

/// A block's memory and its contents. The index (CachedObject::blocks), each pin and each fill hold
/// it: a block that has left the index lives until its last pin and fill have ended.
struct Block {
  /// A second read later than this is a second use. Processes that go through a file together are
  /// closer to each other.
  static constexpr std::chrono::milliseconds kPassTime{1000};

  std::shared_ptr<CachedObject> object;
  BlockName name;
  BlockPlace place;
  UnitMask valid = 0;         ///< [both] the bytes are there
  UnitMask filling = 0;       ///< [both] a fill is under way; never overlaps valid
  UnitMask read = 0;          ///< [object] a read has asked for them
  std::uint64_t read_to = 0;  ///< [object] end of the last read, in the object
  std::chrono::steady_clock::time_point first_read;  ///< [object]
  std::vector<std::shared_ptr<PendingRead>> waiters;
  Deadline fills_end{};  ///< all its fills so far have ended by then

  [[nodiscard]] std::uint64_t size_bytes() const { return block_bytes(name.block_class); }
  [[nodiscard]] std::uint64_t object_offset() const { return name.number * size_bytes(); }

  /// Records a read of `range` of the object. True if it is a second use: more than kPassTime after
  /// the first read and not the next step of the last one. This tells data that is used again from
  /// data that streams by. Under the object's lock.
  [[nodiscard]] bool note_read(ByteRange range, std::chrono::steady_clock::time_point now) {
    const UnitMask units = units_of(range);
    const bool is_next = range.begin == read_to;
    const bool is_again = (units & read) != 0;
    if (read == 0) first_read = now;
    read_to = range.end;
    read |= units;
    return is_again && !is_next && now - first_read >= kPassTime;
  }

  /// Whether reads have touched each of its units that the object has. Under the object's lock.
  [[nodiscard]] bool is_read_through() const {
    const std::uint64_t end = std::min(object_offset() + size_bytes(), object->version.size_bytes);
    return (units_of({.begin = object_offset(), .end = end}) & ~read) == 0;
  }

  /// The units that `range` of the object touches.
  [[nodiscard]] UnitMask units_of(ByteRange range) const {
    const std::uint64_t begin = std::max(range.begin, object_offset()) - object_offset();
    const std::uint64_t end = std::min(range.end - object_offset(), size_bytes());
    return unit_mask(begin / kUnitBytes, (end + kUnitBytes - 1) / kUnitBytes);
  }
};

}  // namespace s3rdmafs::cache
