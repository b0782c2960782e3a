// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/retry_budget.h"

namespace s3rdmafs::s3 {

void RetryBudget::on_request() {
  const MutexLock lock(mutex_);
  saved_.add(kPerRequest);
}

bool RetryBudget::try_spend() {
  const MutexLock lock(mutex_);
  const auto now = clock_.now();
  const std::chrono::duration<double> passed = now - filled_at_;
  filled_at_ = now;
  saved_.add(passed.count() * kPerSecond);
  return saved_.try_take();
}

}  // namespace s3rdmafs::s3
