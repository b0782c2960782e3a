// SPDX-License-Identifier: Apache-2.0
// What BlockCache keeps: objects, their blocks, and the reads that wait for them.
//
// Two locks guard it: BlockCache's, and after it each object's own, which is all that a hit takes.
// Three kinds of data:
//   [both]   is changed under both locks, so it may be read under either: what a hit looks up
//   [object] is read and changed under the object's: what a hit changes
//   the rest belongs to BlockCache's.
#pragma once

#include <algorithm>
#include <array>
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

/// Numbers of the blocks of a class that a range lies in: [first, last).
struct BlockNumbers {
  BlockNumbers(BlockClass block_class, ByteRange range)
      : first(range.begin / block_bytes(block_class)),
        last((range.end + block_bytes(block_class) - 1) / block_bytes(block_class)) {}
  std::uint64_t first;
  std::uint64_t last;
};

/// One version of one object: what its blocks and streams hang on. Kept while it has either.
struct CachedObject {
  explicit CachedObject(ObjectVersion object_version)
      : version(std::move(object_version)),
        block_class(block_class_for(version.size_bytes)),
        streams(version.size_bytes) {}

  const ObjectVersion version;
  const BlockClass block_class;         ///< what streams fill; fragments are smaller
  std::atomic<std::size_t> readers{0};  ///< changed under BlockCache's lock

  Mutex mutex;                                                                  // lock order 3b
  ReadAhead streams GUARDED_BY(mutex);                                          // [object]
  std::unordered_map<BlockName, std::shared_ptr<Block>, BlockNameHash> blocks;  // [both]
};

struct PendingRead;

/// A block's memory and what is in it. The index (CachedObject::blocks) holds it, and so does each
/// pin and fill: a block that was taken out of the index lives until the last of them is done.
struct Block {
  /// What is read again later than this was not read twice by one pass over it: processes that go
  /// through a file together are closer to each other.
  static constexpr std::chrono::milliseconds kPassTime{1000};

  std::shared_ptr<CachedObject> object;
  BlockName name;
  BlockPlace place;
  UnitMask valid = 0;         ///< [both] bytes are there
  UnitMask filling = 0;       ///< [both] a fill is under way; never overlaps valid
  UnitMask read = 0;          ///< [object] somebody has read it
  std::uint64_t read_to = 0;  ///< [object] where the last read of it ended, in the object
  std::chrono::steady_clock::time_point first_read;  ///< [object]
  std::vector<std::shared_ptr<PendingRead>> waiters;
  Deadline fills_end{};  ///< by when all its fills so far have ended

  [[nodiscard]] std::uint64_t size_bytes() const { return block_bytes(name.block_class); }
  [[nodiscard]] std::uint64_t object_offset() const { return name.number * size_bytes(); }

  /// Somebody reads `range` of the object now. True: it is read a second time, later than and not
  /// as the next step of the first, which tells data that is used again from data that streams by.
  /// Under the object's lock.
  [[nodiscard]] bool note_read(ByteRange range, std::chrono::steady_clock::time_point now) {
    const UnitMask units = units_of(range);
    const bool is_next = range.begin == read_to;
    const bool is_again = (units & read) != 0;
    if (read == 0) first_read = now;
    read_to = range.end;
    read |= units;
    return is_again && !is_next && now - first_read >= kPassTime;
  }

  /// Somebody has read each unit of it that the object has. Under the object's lock.
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
  bool is_step = false;     ///< of a stream
  unsigned restarts = 0;    ///< after a late write became possible; bounded by kRestartsMax
  bool waits = false;       ///< counted in the gauge of waiting reads
  bool is_settled = false;  ///< its answer is on its way
};

}  // namespace s3rdmafs::cache
