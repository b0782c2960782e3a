// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/staging_pool.h"

namespace s3rdmafs::target {

Result<StagingPool::Lease> StagingPool::borrow(std::chrono::steady_clock::duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mutex_);
  while (free_.empty()) {
    if (!freed_.wait_until(mutex_, deadline) && free_.empty()) {
      return fail(ErrorCode::kTimedOut, "every staging buffer stayed in use: too many transfers");
    }
  }
  const StagingBuffer buffer = free_.back();
  free_.pop_back();
  return Lease(*this, buffer);
}

void StagingPool::give_back(StagingBuffer buffer) {
  const MutexLock lock(mutex_);
  free_.push_back(buffer);
  freed_.notify_one();
}

}  // namespace s3rdmafs::target
