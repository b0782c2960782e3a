// SPDX-License-Identifier: Apache-2.0
//
// Why one mean for all servers. With a mean for each, a server that is slow with everything would
// pass for normal. If all servers are slow the mean follows, since the reads that are not given up
// still count, and the share keeps hedges from adding much to the load.
#include "s3/endpoints/hedge_policy.h"

#include <algorithm>

namespace s3rdmafs::s3 {

std::optional<std::chrono::nanoseconds> HedgePolicy::bound(std::size_t length_bytes) const {
  const MutexLock lock(mutex_);
  const auto mean = durations_.mean(length_bytes);
  if (!mean) return std::nullopt;
  const auto learned = std::chrono::duration_cast<std::chrono::nanoseconds>(*mean * kTimesMean);
  return std::max<std::chrono::nanoseconds>(learned, kFloor);
}

void HedgePolicy::on_read() {
  const MutexLock lock(mutex_);
  saved_.add(kPerRead);
}

void HedgePolicy::on_done(std::size_t length_bytes, std::chrono::nanoseconds took) {
  const MutexLock lock(mutex_);
  durations_.add(length_bytes, took);
}

bool HedgePolicy::try_spend() {
  const MutexLock lock(mutex_);
  return saved_.try_take();
}

}  // namespace s3rdmafs::s3
