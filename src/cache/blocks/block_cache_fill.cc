// SPDX-License-Identifier: Apache-2.0
// How BlockCache's bytes come: which GETs, how far ahead, and what becomes of their ends. The idea
// and the locks are block_cache.cc's.
#include <algorithm>
#include <utility>

#include "cache/blocks/block_cache.h"

namespace s3rdmafs::cache {

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
    users_.add(block->place.slab);
    fills_in_flight_.add(1);
    block->fills_end = std::max(block->fills_end, deadline);
    cause.add((run.last - run.first) * kUnitBytes);
    actions.fills.push_back({.block = block, .units = run, .deadline = deadline});
  }
}

void BlockCache::plan_read_ahead(const std::shared_ptr<CachedObject>& object, ByteRange range,
                                 Actions& actions) {
  if (range.empty() || !starved_.empty()) return;  // readers come before guesses
  const Deadline deadline = clock_.now() + options_.fill_deadline;
  const BlockNumbers numbers(object->block_class, range);
  for (std::uint64_t number = numbers.first; number < numbers.last; ++number) {
    const auto block = index_.find_or_make_block(object, {object->block_class, number});
    update_slab_gauges();
    if (!block) return;
    plan_fills(block, block->units_of(range), deadline, read_ahead_bytes_, actions);
  }
}

// Read-ahead may take a quarter of the cache, shared by all open objects: the rest keeps what was
// read. Never less than a request's worth, or a slow reader would get none at all.
std::uint64_t BlockCache::read_ahead_share() const {
  if (options_.read_ahead_max_bytes == 0) return 0;
  const std::uint64_t cache_bytes = arena_.slab_count() * memory::Arena::kSlabBytes;
  const std::uint64_t share = cache_bytes / 4 / std::max<std::size_t>(readers_open_, 1);
  return std::clamp<std::uint64_t>(
      share, std::min(options_.read_ahead_max_bytes, std::uint64_t{block_bytes(BlockClass::k4MiB)}),
      options_.read_ahead_max_bytes);
}

ReadAhead::Limits BlockCache::read_ahead_limits(const CachedObject& object) const {
  const std::uint64_t window_max = read_ahead_share();
  const std::uint64_t for_all = arena_.slab_count() * memory::Arena::kSlabBytes / 4;
  const std::size_t readers_open = std::max<std::size_t>(readers_open_, 1);
  return {.window_max_bytes = window_max,
          .budget_bytes = std::max(window_max, for_all / readers_open * object.readers),
          .pace = transfers_.pace()};
}

void BlockCache::send(Fill fill) {
  const Block& block = *fill.block;
  const CachedObject& object = *block.object;
  const std::uint64_t in_block = fill.units.first * kUnitBytes;
  const std::uint64_t offset = block.object_offset() + in_block;
  const std::uint64_t length = std::min((fill.units.last - fill.units.first) * kUnitBytes,
                                        object.version.size_bytes - offset);

  s3::GetRequest request{.key = object.version.key,
                         .etag = object.version.etag,
                         .offset_bytes = offset,
                         .window = {.region = &arena_.region(block.place.slab),
                                    .offset = block.place.slot * block.size_bytes() + in_block,
                                    .length = length},
                         .can_restart = true};
  const Deadline deadline = fill.deadline;
  store_.get(std::move(request), deadline,
             [this, fill = std::move(fill), length,
              sent = clock_.now()](const std::expected<s3::Path, s3::GetFailure>& result) {
               if (const auto now = clock_.now(); result) {
                 transfers_.on_done(length, now - sent, now);
               }
               finish_fill(fill, result);
             });
}

void BlockCache::finish_fill(const Fill& fill,
                             const std::expected<s3::Path, s3::GetFailure>& result) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const std::shared_ptr<Block>& block = fill.block;
    const std::uint32_t slab = block->place.slab;
    const UnitMask mask = unit_mask(fill.units.first, fill.units.last);
    {
      const MutexLock object_lock(block->object->mutex);
      block->filling &= ~mask;
      if (result) block->valid |= mask;
    }
    fills_in_flight_.add(-1);
    if (result) {
      settle_waiters(block, /*lost=*/0, /*failure=*/nullptr, actions);
    } else {
      if (result.error().late_write_possible && !pool_.is_quarantined(slab)) {
        quarantines_.add();
        pool_.quarantine(slab);
        index_.forget_blocks_of(slab);
        update_slab_gauges();
      }
      settle_waiters(block, mask, &result.error(), actions);
    }
    remove_user(slab);
    retry_starved(actions);
  }
  carry_out(std::move(actions));
}

}  // namespace s3rdmafs::cache
