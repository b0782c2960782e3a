// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/recent_durations.h"

#include <algorithm>
#include <bit>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {

std::size_t size_class(std::size_t length_bytes, std::size_t classes) {
  constexpr std::size_t kSmallestClassBytes = 4 * kKiB;
  const std::size_t steps = (std::max<std::size_t>(length_bytes, 1) - 1) / kSmallestClassBytes;
  return std::min<std::size_t>(std::bit_width(steps), classes - 1);
}

void RecentDurations::add(std::size_t length_bytes, std::chrono::nanoseconds took) {
  Mean& mean = means_.at(size_class(length_bytes, means_.size()));
  ++mean.samples;
  mean.value += (Nanoseconds(took) - mean.value) / std::min(mean.samples, memory_);
}

std::optional<RecentDurations::Nanoseconds> RecentDurations::mean(std::size_t length_bytes) const {
  const Mean& mean = means_.at(size_class(length_bytes, means_.size()));
  if (mean.samples < samples_min_) return std::nullopt;
  return mean.value;
}

}  // namespace s3rdmafs::s3
