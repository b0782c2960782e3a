// SPDX-License-Identifier: Apache-2.0
// The misses of BlockCache: how a read gets memory, how its bytes come, and how its waiting ends.
// block_cache.cc has the idea, the lifetimes and the locks.
#include <algorithm>
#include <utility>

#include "cache/blocks/block_cache.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {
namespace {

// A read starts over at most this often after fills that may be written late. Its deadline bounds
// the time; this bounds the memory that one unlucky read can send into quarantine.
constexpr unsigned kRestartsMax = 2;

Error mount_ends() { return {ErrorCode::kCancelled, "the mount ends"}; }

// The class of the blocks that serve the read: fragments, unless it is a step of a stream or its
// large blocks are there already.
BlockClass class_for(const PendingRead& read) {
  const CachedObject& object = *read.object;
  if (read.is_step) return object.block_class;
  const BlockNumbers numbers(object.block_class, read.range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    if (!object.blocks.contains({object.block_class, number})) {
      return object.fragment_class(read.range);
    }
  }
  return object.block_class;
}

bool needs_memory(const PendingRead& read) {
  const BlockClass block_class = class_for(read);
  const BlockNumbers numbers(block_class, read.range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    if (!read.object->blocks.contains({block_class, number})) return true;
  }
  return false;
}

// The bytes to fetch for the read: an object of one small block as a whole, since its other reads
// follow at once.
ByteRange wanted_of(const PendingRead& read) {
  const CachedObject& object = *read.object;
  if (object.block_class > kWholeUpTo) return read.range;
  return {.begin = 0, .end = object.version.size_bytes};
}

}  // namespace

void BlockCache::start_or_queue(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  const bool has_turn = !any_starved() || !needs_memory(*read);
  if (has_turn && start(read, actions)) return;
  if (is_shut_down_) return actions.fail(read, mount_ends());
  waiting_.add_starved(read);
  if (!std::exchange(read->waits, true)) metrics_.reads_waiting.add(1);
  retry_starved(actions);  // for memory that was released before any_starved() was true
}

bool BlockCache::start(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  if (!pin_blocks(*read)) return false;
  if (read->is_complete()) {
    actions.complete(read);
  } else {
    wait_for_fills(read, actions);
  }
  return true;
}

// All of the read's blocks, or none.
bool BlockCache::pin_blocks(PendingRead& read) {
  const BlockClass block_class = class_for(read);
  const BlockNumbers numbers(block_class, read.range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    auto block = index_.find_or_make_block(read.object, {block_class, number});
    update_slab_gauges();
    if (!block) {
      release_parts(read);
      return false;
    }
    usage_.add(block->place.slab);
    metrics_.pins.add(1);
    note_read(*block, read.range);
    const UnitMask needed = block->units_of(read.range);
    read.add_part({.block = std::move(block), .needed = needed});
  }
  return true;
}

void BlockCache::wait_for_fills(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  const ByteRange wanted = wanted_of(*read);
  Deadline ends{};
  for (const PendingRead::Part& part : read->parts()) {
    if (part.is_complete()) continue;
    plan_fills(part.block, part.block->units_of(wanted), read->deadline, metrics_.demand_bytes,
               actions);
    ends = std::max(ends, part.block->fills_end);
    // A read that starts over may still be in the list of a block that was not lost.
    auto& waiters = part.block->waiters;
    if (std::ranges::find(waiters, read) == waiters.end()) waiters.push_back(read);
  }
  if (ends > read->deadline) waiting_.add_impatient(read);
  if (!std::exchange(read->waits, true)) metrics_.reads_waiting.add(1);
}

void BlockCache::release_parts(PendingRead& read) {
  for (const PendingRead::Part& part : read.parts()) {
    remove_user(part.block->place.slab);
    metrics_.pins.add(-1);
  }
  read.part_slots = {};
  read.part_count = 0;
}

void BlockCache::plan_fills(const std::shared_ptr<Block>& block, UnitMask wanted, Deadline deadline,
                            metrics::Counter& cause, Actions& actions) {
  UnitMask missing = wanted & ~block->valid & ~block->filling;
  while (missing != 0) {
    const UnitRun run = lowest_run(missing);
    const UnitMask mask = unit_mask(run.first, run.last);
    missing &= ~mask;
    {
      const MutexLock lock(block->object->mutex);
      block->filling |= mask;
    }
    usage_.add(block->place.slab);
    metrics_.fills_in_flight.add(1);
    block->fills_end = std::max(block->fills_end, deadline);
    cause.add((run.last - run.first) * kUnitBytes);
    actions.fills.push_back({.block = block, .units = run, .deadline = deadline});
  }
}

void BlockCache::plan_read_ahead(const std::shared_ptr<CachedObject>& object, ByteRange range,
                                 Actions& actions) {
  if (range.empty() || any_starved()) return;  // readers come before guesses
  const Deadline deadline = clock_.now() + options_.fill_deadline;
  const BlockNumbers numbers(object->block_class, range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    const BlockName name{object->block_class, number};
    if (!may_guess(*object, name)) return;
    const auto block = index_.find_or_make_block(object, name);
    update_slab_gauges();
    if (!block) return;
    plan_fills(block, block->units_of(range), deadline, metrics_.read_ahead_bytes, actions);
  }
}

// Each other stream's next read finds a slab: a guess that takes the last ones makes readers wait
// for bytes that none has asked for yet.
bool BlockCache::may_guess(const CachedObject& object, BlockName name) {
  if (object.blocks.contains(name)) return true;
  const std::uint64_t others = read_ahead_.active_streams(clock_.now()) - 1;
  return pool_.has_more_than(std::min<std::uint64_t>(others, pool_.slab_count() / 2));
}

void BlockCache::finish_fill(const Fill& fill, const FillSender::Outcome& outcome) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const std::shared_ptr<Block>& block = fill.block;
    const std::uint32_t slab = block->place.slab;
    const UnitMask mask = unit_mask(fill.units.first, fill.units.last);
    {
      const MutexLock object_lock(block->object->mutex);
      block->filling &= ~mask;
      if (outcome) block->valid |= mask;
    }
    metrics_.fills_in_flight.add(-1);
    if (!outcome && outcome.error().late_write_possible) quarantine(slab);
    settle_waiters(fill, outcome, actions);
    remove_user(slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

// Answers the reads that have all of their bytes now. If the fill failed, the reads that needed one
// of its units fail or start over. The others wait on, unless they have left the block.
void BlockCache::settle_waiters(const Fill& fill, const FillSender::Outcome& outcome,
                                Actions& actions) {
  const UnitMask lost = outcome ? UnitMask{0} : unit_mask(fill.units.first, fill.units.last);
  Block& block = *fill.block;
  for (const auto& read : std::exchange(block.waiters, {})) {
    const PendingRead::Part* const part = read->part_in(block);
    if (part == nullptr) continue;
    if (read->is_complete()) {
      actions.complete(read);
    } else if ((part->needed & lost) != 0) {
      restart_or_fail(read, outcome.error(), actions);
    } else if (!part->is_complete()) {
      block.waiters.push_back(read);
    }
  }
}

void BlockCache::restart_or_fail(const std::shared_ptr<PendingRead>& read,
                                 const s3::GetFailure& failure, Actions& actions) {
  release_parts(*read);
  const bool may_restart =
      failure.late_write_possible && failure.error.code != ErrorCode::kCancelled &&
      // The store bounds the number of hedges itself.
      (failure.was_hedged || ++read->restarts <= kRestartsMax) && clock_.now() < read->deadline;
  if (may_restart) return start_or_queue(read, actions);
  actions.fail(read, failure.error);
}

void BlockCache::retry_starved(Actions& actions) {
  waiting_.retry_starved([this, &actions](const std::shared_ptr<PendingRead>& read)
                             REQUIRES(mutex_) { return start(read, actions); });
}

void BlockCache::on_tick() {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const auto now = clock_.now();
    for (const auto& read : waiting_.take_late_starved(now)) {
      actions.fail(read, {ErrorCode::kTimedOut, "no cache memory became free within the deadline"});
    }
    for (const auto& read : waiting_.take_late_impatient(now)) {
      if (read->is_settled) continue;  // a read that was started again is listed once a start
      release_parts(*read);
      actions.fail(read, {ErrorCode::kTimedOut, "the bytes did not come within the deadline"});
    }
  }
  carry_out(std::move(actions));
}

void BlockCache::shut_down() {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    is_shut_down_ = true;
    for (const auto& read : waiting_.take_starved()) actions.fail(read, mount_ends());
  }
  carry_out(std::move(actions));
}

// A continuation is destroyed as soon as it was called. It may own the last reader of the object,
// whose destructor takes the lock; and the other block of a read that failed in one still lists the
// read, and drops it under the lock.
void BlockCache::carry_out(Actions actions) {
  for (const auto& read : actions.ready) {
    if (read->waits) metrics_.reads_waiting.add(-1);
    std::exchange(read->done, nullptr)(pinned_bytes_of(*read));
  }
  for (Actions::FailedRead& failed : actions.failed) {
    if (failed.read->waits) metrics_.reads_waiting.add(-1);
    std::exchange(failed.read->done, nullptr)(std::unexpected(std::move(failed.error)));
  }
  for (Fill& fill : actions.fills) sender_.send(std::move(fill));
}

void BlockCache::remove_user(std::uint32_t slab) {
  if (usage_.remove(slab)) reclaim(slab);
}

void BlockCache::reclaim(std::uint32_t slab) {
  if (pool_.reclaim(slab) == BlockPool::Reclaim::kToFence) {
    quarantine_.add(arena_.region(slab), [this, slab] { on_slab_fenced(slab); });
  }
  update_slab_gauges();
}

void BlockCache::quarantine(std::uint32_t slab) {
  if (pool_.is_quarantined(slab)) return;
  metrics_.quarantines.add();
  pool_.quarantine(slab);
  index_.forget_blocks_of(slab);
  update_slab_gauges();
}

void BlockCache::on_slab_fenced(std::uint32_t slab) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    pool_.release(slab);
    update_slab_gauges();
    retry_starved(actions);
  }
  log::info("cache: slab {} was fenced; it is in use again", slab);
  carry_out(std::move(actions));
}

void BlockCache::update_slab_gauges() {
  metrics_.slabs_free.set(static_cast<std::int64_t>(pool_.free_count()));
  metrics_.slabs_quarantined.set(static_cast<std::int64_t>(pool_.quarantined_count()));
}

}  // namespace s3rdmafs::cache
