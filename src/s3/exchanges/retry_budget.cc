// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/retry_budget.h"

#include <algorithm>

namespace s3rdmafs::s3 {

RetryBudget::RetryBudget(const Clock& clock) : clock_(clock), filled_at_(clock.now()) {}

void RetryBudget::on_request() {
  const MutexLock lock(mutex_);
  tokens_ = std::min(kCapacity, tokens_ + kPerRequest);
}

bool RetryBudget::try_spend() {
  const MutexLock lock(mutex_);
  refill();
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void RetryBudget::refill() {
  const auto now = clock_.now();
  const std::chrono::duration<double> passed = now - filled_at_;
  filled_at_ = now;
  tokens_ = std::min(kCapacity, tokens_ + passed.count() * kPerSecond);
}

}  // namespace s3rdmafs::s3
