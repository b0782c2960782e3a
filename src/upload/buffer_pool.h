// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memory/arena.h"
#include "memory/quarantine.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/worker_thread.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::upload {

class BufferPool;

/// Where a buffer lies: a run of chunks within one slab.
struct BufferPlace {
  std::uint32_t slab = 0;
  std::uint32_t chunk = 0;
  std::uint32_t chunks = 0;
};

/// Registered memory for one part, given back when it is destroyed. Movable; used by one thread at
/// a time; must be gone before its pool.
class PartBuffer {
 public:
  PartBuffer() = default;
  PartBuffer(PartBuffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), place_(other.place_), rests_(other.rests_) {}
  PartBuffer& operator=(PartBuffer&& other) noexcept {
    give_back();
    pool_ = std::exchange(other.pool_, nullptr);
    place_ = other.place_;
    rests_ = other.rests_;
    return *this;
  }
  ~PartBuffer() { give_back(); }

  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }
  [[nodiscard]] std::span<std::byte> bytes() const;
  /// The first `length` bytes, for a PutBody.
  [[nodiscard]] rdma::Window window(std::size_t length) const;

  /// The server may still read it: when given back it rests until its slab's region was renewed.
  void let_rest() noexcept { rests_ = true; }

 private:
  friend class BufferPool;
  PartBuffer(BufferPool& pool, BufferPlace place) : pool_(&pool), place_(place) {}
  void give_back() noexcept;

  BufferPool* pool_ = nullptr;
  BufferPlace place_;
  bool rests_ = false;
};

/// The part buffers of a mount: an arena that servers may read, cut into chunks of the first part
/// size. A request that finds no room waits in line. Thread-safe.
class BufferPool {
 public:
  /// Borrows all.
  /// @param chunk_bytes  divides the arena's slabs
  /// @param on_tick      called about once a second on the pool's thread
  BufferPool(memory::Arena& arena, std::size_t chunk_bytes, const Clock& clock,
             metrics::Registry& metrics, std::function<void()> on_tick);
  /// All buffers have been given back, and no request waits.
  ~BufferPool() = default;

  /// A buffer of `size_bytes`: a multiple of a chunk, at most a slab. First come, first served: a
  /// large one cannot be overtaken for ever by small ones. `done` runs on the caller's thread, or
  /// on the thread that made room. Errors: kNoMemory (none came free by the deadline, or up to a
  /// second later), kCancelled (shut_down).
  void take(std::size_t size_bytes, Deadline deadline, Done<PartBuffer> done);

  /// Ends all waiting with kCancelled, now and later.
  void shut_down();

 private:
  friend class PartBuffer;
  struct Slab {
    std::vector<bool> used;  ///< by chunk
    std::uint32_t buffers = 0;
    std::uint32_t used_chunks = 0;
    bool quarantined = false;
  };
  struct Waiter {
    std::uint32_t chunks;
    Deadline deadline;
    Done<PartBuffer> done;
  };
  using Granted = std::vector<std::pair<Done<PartBuffer>, PartBuffer>>;

  void give_back(BufferPlace place, bool rests);
  void on_fenced(std::uint32_t slab);
  void on_tick();

  [[nodiscard]] std::optional<BufferPlace> find(std::uint32_t chunks) const REQUIRES(mutex_);
  [[nodiscard]] Granted serve() REQUIRES(mutex_);
  static void hand_out(Granted granted);

  memory::Arena& arena_;
  const std::size_t chunk_bytes_;
  const Clock& clock_;
  metrics::Gauge& used_bytes_;
  metrics::Gauge& quarantined_bytes_;
  metrics::Gauge& waiting_gauge_;

  mutable Mutex mutex_;  // leaf
  std::vector<Slab> slabs_ GUARDED_BY(mutex_);
  std::deque<Waiter> waiting_ GUARDED_BY(mutex_);
  bool shut_down_ GUARDED_BY(mutex_) = false;

  memory::Quarantine quarantine_{thread_};
  WorkerThread thread_;  // last: its jobs and ticks use the rest
};

}  // namespace s3rdmafs::upload
