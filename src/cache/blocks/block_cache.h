// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "cache/blocks/block.h"
#include "cache/blocks/block_index.h"
#include "cache/blocks/block_pool.h"
#include "cache/read_cache.h"
#include "cache/readahead/transfer_model.h"
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
    std::uint64_t read_ahead_max_bytes = 0;     ///< per stream; 0 switches read-ahead off
    std::chrono::milliseconds fill_deadline{};  ///< for fills that nobody waits for yet
  };

  /// Borrows all but the options. Destroy it after its readers and PinnedBytes are gone and the
  /// store has been shut down.
  BlockCache(memory::Arena& arena, s3::ObjectStore& store, const Clock& clock,
             metrics::Registry& metrics, Options options);
  ~BlockCache() override;

  [[nodiscard]] std::shared_ptr<ObjectReader> open(ObjectVersion version) override;
  void prefetch(ObjectVersion version) override EXCLUDES(mutex_);

  /// Ends reads that wait for memory with kCancelled, and every later one that would. The store has
  /// been shut down: when this returns no read waits any more.
  void shut_down() EXCLUDES(mutex_);

 private:
  class Reader;
  class BlockPin;

  /// One GET to be sent, once the lock is free.
  struct Fill {
    std::shared_ptr<Block> block;
    UnitRun units;
    Deadline deadline;
  };
  struct FailedRead {
    std::shared_ptr<PendingRead> read;
    Error error;
  };
  /// What an event leads to, collected under the lock and carried out without it.
  struct Actions {
    std::vector<Fill> fills;
    std::vector<std::shared_ptr<PendingRead>> ready;
    std::vector<FailedRead> failed;
  };

  void read(const std::shared_ptr<CachedObject>& object, ByteRange range, Deadline deadline,
            Done<PinnedBytes> done) EXCLUDES(mutex_);
  void close(const std::shared_ptr<CachedObject>& object) EXCLUDES(mutex_);
  void unpin(const std::shared_ptr<Block>& block) EXCLUDES(mutex_);
  void send(Fill fill);
  void finish_fill(const Fill& fill, const std::expected<s3::Path, s3::GetFailure>& result)
      EXCLUDES(mutex_);
  void on_slab_fenced(std::uint32_t slab) EXCLUDES(mutex_);
  void on_tick() EXCLUDES(mutex_);
  void carry_out(Actions actions) EXCLUDES(mutex_);
  [[nodiscard]] PinnedBytes pinned_bytes_of(const PendingRead& read);
  /// What of `range` lies in the block, which stays pinned with it.
  [[nodiscard]] std::span<const std::byte> bytes_in(const Block& block, ByteRange range);

  /// What a read finds before anything is asked for.
  struct Lookup {
    std::chrono::steady_clock::time_point now;
    ReadAhead::Found found = ReadAhead::Found::kMissing;
    PinnedBytes bytes;      ///< all of the range, pinned, where it was found
    bool is_step = false;   ///< of a stream
    ByteRanges ahead;       ///< what to fetch besides
    bool is_again = false;  ///< its slabs should be kept
    std::array<std::uint32_t, PinnedBytes::kPiecesMax> slabs{};
  };
  [[nodiscard]] Lookup look_up(const std::shared_ptr<CachedObject>& object, ByteRange range);
  /// Pins all of the range where it is in blocks of this class, or nothing.
  [[nodiscard]] bool pin_if_there(const CachedObject& object, BlockClass block_class,
                                  ByteRange range, Lookup& lookup) REQUIRES(object.mutex);
  static void fail_as_shut_down(const std::shared_ptr<PendingRead>& read, Actions& actions);
  static void complete(const std::shared_ptr<PendingRead>& read, Actions& actions);
  static void fail_with(const std::shared_ptr<PendingRead>& read, Error error, Actions& actions);
  void note_read(Block& block, ByteRange range) REQUIRES(mutex_);
  [[nodiscard]] bool may_be_kept(std::uint32_t slab) const;
  /// Under the object's lock.
  [[nodiscard]] bool has_passed(const Block& block) const;

  /// Of which blocks the read is to be served.
  [[nodiscard]] static BlockClass class_for(const PendingRead& read);
  /// Pins the read's blocks and plans what they lack. False where no memory is to be had now.
  [[nodiscard]] bool start(const std::shared_ptr<PendingRead>& read, Actions& actions)
      REQUIRES(mutex_);
  void start_or_queue(const std::shared_ptr<PendingRead>& read, Actions& actions) REQUIRES(mutex_);
  void retry_starved(Actions& actions) REQUIRES(mutex_);
  void fail_impatient(Deadline now, Actions& actions) REQUIRES(mutex_);
  void plan_fills(const std::shared_ptr<Block>& block, UnitMask wanted, Deadline deadline,
                  metrics::Counter& cause, Actions& actions) REQUIRES(mutex_);
  void plan_read_ahead(const std::shared_ptr<CachedObject>& object, ByteRange range,
                       Actions& actions) REQUIRES(mutex_);
  void settle_waiters(const std::shared_ptr<Block>& block, UnitMask lost,
                      const s3::GetFailure* failure, Actions& actions) REQUIRES(mutex_);
  void release_parts(PendingRead& read) REQUIRES(mutex_);

  void remove_user(std::uint32_t slab) REQUIRES(mutex_);
  void attend(std::uint32_t slab) REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t read_ahead_share() const;
  [[nodiscard]] ReadAhead::Limits read_ahead_limits(const CachedObject& object) const;
  void update_slab_gauges() REQUIRES(mutex_);

  memory::Arena& arena_;
  s3::ObjectStore& store_;
  const Clock& clock_;
  const Options options_;

  metrics::Counter& hits_;
  metrics::Counter& waits_;
  metrics::Counter& demand_bytes_;
  metrics::Counter& read_ahead_bytes_;
  metrics::Counter& quarantines_;
  metrics::Gauge& pins_;
  metrics::Gauge& fills_in_flight_;
  metrics::Gauge& reads_waiting_;
  metrics::Gauge& slabs_free_;
  metrics::Gauge& slabs_quarantined_;

  TransferModel transfers_;
  SlabUsage users_;
  std::atomic<std::size_t> readers_open_{0};
  std::atomic<std::size_t> starved_count_{0};  // of starved_, for those who let go of memory

  Mutex mutex_;  // lock order 3a
  BlockPool pool_ GUARDED_BY(mutex_);
  BlockIndex index_ GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<PendingRead>> starved_ GUARDED_BY(mutex_);
  /// Those that wait for fills which may take longer than they may.
  std::vector<std::weak_ptr<PendingRead>> impatient_ GUARDED_BY(mutex_);
  bool is_shut_down_ GUARDED_BY(mutex_) = false;

  memory::Quarantine quarantine_{thread_};
  WorkerThread thread_;  // last: its jobs and ticks use the rest
};

}  // namespace s3rdmafs::cache
