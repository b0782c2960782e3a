// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cache/blocks/block.h"
#include "cache/read_cache.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::cache {

/// A read that did not find all of its bytes. BlockCache's lock guards it.
struct PendingRead {
  struct Part {
    std::shared_ptr<Block> block;  ///< pinned
    UnitMask needed = 0;           ///< never 0

    [[nodiscard]] bool is_complete() const { return (needed & ~block->valid) == 0; }
  };

  std::shared_ptr<CachedObject> object;
  ByteRange range;  ///< not empty, inside the object, over at most two blocks
  Deadline deadline;
  Done<PinnedBytes> done;
  std::array<Part, PinnedBytes::kPiecesMax> part_slots;
  std::size_t part_count = 0;  ///< 0: it has no memory, or has its answer
  bool is_step = false;        ///< of a stream
  std::size_t stream = 0;      ///< of the object (ReadAhead::last_stream)
  unsigned restarts = 0;       ///< after a late write became possible; bounded by kRestartsMax
  bool waits = false;          ///< counted in the gauge of waiting reads
  bool is_settled = false;     ///< its answer is on its way

  [[nodiscard]] std::span<const Part> parts() const {
    return std::span(part_slots).first(part_count);
  }
  void add_part(Part part) { part_slots.at(part_count++) = std::move(part); }
  [[nodiscard]] bool is_complete() const {
    return std::ranges::all_of(parts(), &Part::is_complete);
  }
  /// Its part in this block; null where the read has left the block: it failed or has started over.
  [[nodiscard]] const Part* part_in(const Block& block) const {
    const auto found =
        std::ranges::find(parts(), &block, [](const Part& part) { return part.block.get(); });
    return found == parts().end() ? nullptr : &*found;
  }
};

/// One GET to be sent.
struct Fill {
  std::shared_ptr<Block> block;
  UnitRun units;
  Deadline deadline;
};

/// The actions that an event leads to: collected under BlockCache's lock, carried out after it is
/// released.
struct Actions {
  struct FailedRead {
    std::shared_ptr<PendingRead> read;
    Error error;
  };

  std::vector<Fill> fills;
  std::vector<std::shared_ptr<PendingRead>> ready;
  std::vector<FailedRead> failed;

  void complete(const std::shared_ptr<PendingRead>& read) {
    read->is_settled = true;
    ready.push_back(read);
  }
  void fail(const std::shared_ptr<PendingRead>& read, Error error) {
    read->is_settled = true;
    failed.push_back({.read = read, .error = std::move(error)});
  }
};

}  // namespace s3rdmafs::cache
