// SPDX-License-Identifier: Apache-2.0
// How BlockCache's reads wait, for memory or for fills, and how their waiting ends. The idea and
// the locks are block_cache.cc's.
#include <algorithm>
#include <utility>

#include "cache/blocks/block_cache.h"

namespace s3rdmafs::cache {
namespace {

// A read starts over at most this often after fills that may be written late. Its deadline bounds
// the time; this bounds the memory one unlucky read can send into quarantine.
constexpr unsigned kRestartsMax = 2;

}  // namespace

void BlockCache::start_or_queue(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  if (start(read, actions)) return;
  if (is_shut_down_) return fail_as_shut_down(read, actions);
  starved_.push_back(read);
  starved_count_.store(starved_.size());
  if (!std::exchange(read->waits, true)) reads_waiting_.add(1);
  retry_starved(actions);  // what was let go of before starved_count_ told
}

void BlockCache::fail_as_shut_down(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  fail_with(read, {ErrorCode::kCancelled, "the mount ends"}, actions);
}

void BlockCache::complete(const std::shared_ptr<PendingRead>& read, Actions& actions) {
  read->is_settled = true;
  actions.ready.push_back(read);
}

void BlockCache::fail_with(const std::shared_ptr<PendingRead>& read, Error error,
                           Actions& actions) {
  read->is_settled = true;
  actions.failed.push_back({.read = read, .error = std::move(error)});
}

// `lost` are the units that will not come: reads that need one fail with `failure`, or start over.
void BlockCache::settle_waiters(const std::shared_ptr<Block>& block, UnitMask lost,
                                const s3::GetFailure* failure, Actions& actions) {
  const auto waiters = std::exchange(block->waiters, {});
  for (const auto& read : waiters) {
    UnitMask needed_here = 0;
    bool is_complete = true;
    for (std::size_t i = 0; i < read->part_count; ++i) {
      const PendingRead::Part& part = read->parts.at(i);
      if (part.block == block) needed_here = part.needed;
      if ((part.needed & ~part.block->valid) != 0) is_complete = false;
    }
    if (needed_here == 0) continue;  // failed, or started over by its other block
    if (is_complete) {
      complete(read, actions);
    } else if ((needed_here & lost) == 0) {
      if ((needed_here & ~block->valid) != 0) block->waiters.push_back(read);
    } else if (failure->late_write_possible && failure->error.code != ErrorCode::kCancelled &&
               // Of reads that were given up the store keeps the number small.
               (failure->was_hedged || ++read->restarts <= kRestartsMax) &&
               clock_.now() < read->deadline) {
      release_parts(*read);
      start_or_queue(read, actions);
    } else {
      release_parts(*read);
      fail_with(read, failure->error, actions);
    }
  }
}

void BlockCache::retry_starved(Actions& actions) {
  while (!starved_.empty() && start(starved_.front(), actions)) starved_.pop_front();
  starved_count_.store(starved_.size());
}

// Starved reads have nobody else who would notice that their time is up; nor have those that wait
// for what another read asked for, or asked for anew, with a later deadline.
void BlockCache::on_tick() {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    const auto now = clock_.now();
    std::erase_if(starved_, [&](const std::shared_ptr<PendingRead>& read) {
      if (now < read->deadline) return false;
      fail_with(read, {ErrorCode::kTimedOut, "no cache memory became free within the deadline"},
                actions);
      return true;
    });
    starved_count_.store(starved_.size());
    fail_impatient(now, actions);
  }
  carry_out(std::move(actions));
}

void BlockCache::fail_impatient(Deadline now, Actions& actions) {
  for (auto& waiting : std::exchange(impatient_, {})) {
    const std::shared_ptr<PendingRead> read = waiting.lock();
    if (!read || read->is_settled) continue;
    if (now < read->deadline) {
      impatient_.push_back(std::move(waiting));
    } else if (read->part_count > 0) {  // else it is starved again, and on_tick() has seen to it
      release_parts(*read);
      fail_with(read, {ErrorCode::kTimedOut, "the bytes did not come within the deadline"},
                actions);
    }
  }
}

}  // namespace s3rdmafs::cache
