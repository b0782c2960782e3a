// SPDX-License-Identifier: Apache-2.0
//
// Why the mean of all servers and not each one's own: a server that is slow with everything would
// otherwise pass for normal. Where all are slow the mean follows, since the reads that were not
// given up count, and the share keeps the others from being the last straw.
#include "s3/endpoints/hedge_policy.h"

#include <algorithm>
#include <bit>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::size_t kSmallestClassBytes = 4 * kKiB;

/// Weight of a new sample once there are some: a change of load shows within some 32 reads, and one
/// slow read moves the mean by little.
constexpr double kNewWeight = 1.0 / 32;

}  // namespace

std::optional<std::chrono::nanoseconds> HedgePolicy::bound(std::size_t length_bytes) const {
  const MutexLock lock(mutex_);
  const Mean& mean = means_.at(class_of(length_bytes));
  if (mean.samples < kSamplesMin) return std::nullopt;
  const std::chrono::nanoseconds learned(static_cast<std::int64_t>(mean.nanoseconds * kTimesMean));
  return std::max<std::chrono::nanoseconds>(learned, kFloor);
}

void HedgePolicy::on_read() {
  const MutexLock lock(mutex_);
  saved_ = std::min(saved_ + kPerRead, kCapacity);
}

void HedgePolicy::on_done(std::size_t length_bytes, std::chrono::nanoseconds took) {
  const MutexLock lock(mutex_);
  Mean& mean = means_.at(class_of(length_bytes));
  ++mean.samples;
  const double weight = std::max(1.0 / mean.samples, kNewWeight);
  mean.nanoseconds += (static_cast<double>(took.count()) - mean.nanoseconds) * weight;
}

bool HedgePolicy::try_spend() {
  const MutexLock lock(mutex_);
  if (saved_ < 1) return false;
  saved_ -= 1;
  return true;
}

std::size_t HedgePolicy::class_of(std::size_t length_bytes) {
  const std::size_t steps = (std::max<std::size_t>(length_bytes, 1) - 1) / kSmallestClassBytes;
  return std::min<std::size_t>(std::bit_width(steps), kClasses - 1);
}

}  // namespace s3rdmafs::s3
