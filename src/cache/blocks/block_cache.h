// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "cache/blocks/block.h"
#include "cache/blocks/block_index.h"
#include "cache/blocks/block_metrics.h"
#include "cache/blocks/block_pool.h"
#include "cache/blocks/fill_sender.h"
#include "cache/blocks/pending_read.h"
#include "cache/blocks/waiting_reads.h"
#include "cache/read_cache.h"
#include "cache/readahead/read_ahead_budget.h"
#include "memory/arena.h"
#include "memory/quarantine.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/worker_thread.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// The read cache over the arena: blocks, single-flight fills, streams. Thread-safe.
class BlockCache final : public ReadCache {
 public:
  struct Options {
    std::uint64_t read_ahead_max_bytes = 0;     ///< of one stream; 0 switches read-ahead off
    std::chrono::milliseconds fill_deadline{};  ///< of fills that no read waits for yet
  };

  /// Borrows all but the options. Destroy it after its readers and PinnedBytes are gone and the
  /// store has been shut down.
  BlockCache(memory::Arena& arena, s3::ObjectStore& store, const Clock& clock,
             metrics::Registry& metrics, Options options);
  ~BlockCache() override;

  [[nodiscard]] std::shared_ptr<ObjectReader> open(ObjectVersion version) override;
  void prefetch(ObjectVersion version) override EXCLUDES(mutex_);
  void note_answer(std::chrono::nanoseconds took) override { sender_.note_answer(took); }

  /// Options::read_ahead_max_bytes from now on.
  void set_read_ahead_max(std::uint64_t bytes) { read_ahead_.set_window_max(bytes); }

  /// Ends reads that wait for memory with kCancelled, and every later one that would wait for it.
  /// The store has been shut down: when this returns no read waits any more.
  void shut_down() EXCLUDES(mutex_);

 private:
  class Reader;
  class BlockPin;

  /// The state that a read finds before anything is asked for.
  struct Lookup {
    std::chrono::steady_clock::time_point now;
    ReadAhead::Found found = ReadAhead::Found::kMissing;
    PinnedBytes bytes;       ///< all of the range, pinned, where it was found
    bool is_step = false;    ///< of a stream
    std::size_t stream = 0;  ///< of the object
    ByteRanges ahead;        ///< what to fetch besides
    bool is_again = false;   ///< its slabs should be protected
    std::array<std::uint32_t, PinnedBytes::kPiecesMax> slabs{};
  };

  void close(const std::shared_ptr<CachedObject>& object) EXCLUDES(mutex_);

  // Hits (block_cache.cc).
  void read(const std::shared_ptr<CachedObject>& object, ByteRange range, Deadline deadline,
            Done<PinnedBytes> done) EXCLUDES(mutex_);
  [[nodiscard]] Lookup look_up(const std::shared_ptr<CachedObject>& object, ByteRange range);
  /// Pins all of the range where it is in blocks of this class, or nothing.
  [[nodiscard]] bool pin_if_there(const CachedObject& object, BlockClass block_class,
                                  ByteRange range, Lookup& lookup) REQUIRES(object.mutex);
  /// The bytes of `range` that lie in the block. The block must stay pinned while they are used.
  [[nodiscard]] std::span<const std::byte> bytes_in(const Block& block, ByteRange range);
  void unpin(const std::shared_ptr<Block>& block) EXCLUDES(mutex_);
  /// Of waiting_ the one thing that needs no lock.
  [[nodiscard]] bool any_starved() const NO_THREAD_SAFETY_ANALYSIS {
    return waiting_.any_starved();
  }
  void note_read(Block& block, ByteRange range) REQUIRES(mutex_);
  [[nodiscard]] bool may_be_protected(std::uint32_t slab) const;
  /// Whether the block is a streamed slab (block_pool.h). Under the object's lock.
  [[nodiscard]] bool is_streamed(const Block& block) const;

  // Misses (block_cache_misses.cc).
  /// Gives the read memory and plans what it lacks, or queues it where there is no memory.
  void start_or_queue(const std::shared_ptr<PendingRead>& read, Actions& actions) REQUIRES(mutex_);
  /// The same; false where no memory is to be had now, and then the read holds none.
  [[nodiscard]] bool start(const std::shared_ptr<PendingRead>& read, Actions& actions)
      REQUIRES(mutex_);
  [[nodiscard]] bool pin_blocks(PendingRead& read) REQUIRES(mutex_);
  /// Whether read-ahead may take memory for one block more of this object.
  [[nodiscard]] bool may_guess(const CachedObject& object, BlockName name) REQUIRES(mutex_);
  void wait_for_fills(const std::shared_ptr<PendingRead>& read, Actions& actions) REQUIRES(mutex_);
  void plan_fills(const std::shared_ptr<Block>& block, UnitMask wanted, Deadline deadline,
                  metrics::Counter& cause, Actions& actions) REQUIRES(mutex_);
  void plan_read_ahead(const std::shared_ptr<CachedObject>& object, ByteRange range,
                       Actions& actions) REQUIRES(mutex_);
  void finish_fill(const Fill& fill, const FillSender::Outcome& outcome) EXCLUDES(mutex_);
  void settle_waiters(const Fill& fill, const FillSender::Outcome& outcome, Actions& actions)
      REQUIRES(mutex_);
  void restart_or_fail(const std::shared_ptr<PendingRead>& read, const s3::GetFailure& failure,
                       Actions& actions) REQUIRES(mutex_);
  void retry_starved(Actions& actions) REQUIRES(mutex_);
  void release_parts(PendingRead& read) REQUIRES(mutex_);
  void on_tick() EXCLUDES(mutex_);
  void carry_out(Actions actions) EXCLUDES(mutex_);
  [[nodiscard]] PinnedBytes pinned_bytes_of(const PendingRead& read);

  // Slabs (block_cache_misses.cc).
  void remove_user(std::uint32_t slab) REQUIRES(mutex_);
  void reclaim(std::uint32_t slab) REQUIRES(mutex_);
  void quarantine(std::uint32_t slab) REQUIRES(mutex_);
  void on_slab_fenced(std::uint32_t slab) EXCLUDES(mutex_);
  void update_slab_gauges() REQUIRES(mutex_);

  memory::Arena& arena_;
  const Clock& clock_;
  const Options options_;
  BlockMetrics metrics_;
  FillSender sender_;
  ReadAheadBudget read_ahead_;
  SlabUsage usage_;

  Mutex mutex_;  // lock order 3a
  BlockPool pool_ GUARDED_BY(mutex_);
  BlockIndex index_ GUARDED_BY(mutex_);
  WaitingReads waiting_ GUARDED_BY(mutex_);
  bool is_shut_down_ GUARDED_BY(mutex_) = false;

  memory::Quarantine quarantine_{thread_};
  WorkerThread thread_;  // last: its jobs and ticks use the rest
};

}  // namespace s3rdmafs::cache
