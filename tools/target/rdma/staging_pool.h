// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "s3rdmafs/base/mutex.h"
#include "target/rdma/rc/rc_link.h"

namespace s3rdmafs::target {

/// The buffers transfers pass through, lent one by one: however many clients there are, this much
/// memory is registered and no more. Thread-safe. Outlives its leases.
class StagingPool {
 public:
  explicit StagingPool(std::vector<StagingBuffer> buffers) : free_(std::move(buffers)) {}
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;
  ~StagingPool() = default;

  /// One buffer on loan, until destroyed.
  class Lease {
   public:
    Lease(StagingPool& pool, StagingBuffer buffer) : pool_(&pool), buffer_(buffer) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), buffer_(other.buffer_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(buffer_);
    }
    [[nodiscard]] const StagingBuffer& buffer() const noexcept { return buffer_; }

   private:
    StagingPool* pool_;
    StagingBuffer buffer_;
  };

  /// Waits for a free buffer. Errors: kTimedOut after `patience`.
  [[nodiscard]] Result<Lease> borrow(std::chrono::steady_clock::duration patience);

 private:
  void give_back(StagingBuffer buffer);

  Mutex mutex_;  // leaf
  CondVar freed_;
  std::vector<StagingBuffer> free_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::target
