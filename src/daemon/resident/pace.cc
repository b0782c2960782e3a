// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/pace.h"

#include <algorithm>

namespace s3rdmafs::daemon {

Pace::Seconds Pace::time_of(std::uint64_t bytes) const {
  const auto time = [](std::uint64_t amount, std::uint64_t per_second) {
    if (per_second == 0) return Seconds();
    return Seconds(static_cast<double>(amount) / static_cast<double>(per_second));
  };
  return std::max(time(bytes, limits_.bytes_per_second), time(1, limits_.requests_per_second));
}

Deadline Pace::next(Deadline now, std::uint64_t bytes) {
  const Deadline at = std::max(now, free_at_);
  free_at_ = at + std::chrono::duration_cast<Deadline::duration>(time_of(bytes));
  return at;
}

void Pace::give_back(std::uint64_t bytes) {
  free_at_ -= std::chrono::duration_cast<Deadline::duration>(time_of(bytes));
}

}  // namespace s3rdmafs::daemon
