// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "daemon/doctor/probes/transfers.h"

namespace s3rdmafs::daemon::doctor {

/// Requests of one size, and how many are in flight at a time.
struct Load {
  std::size_t request_bytes = 0;
  unsigned in_flight = 1;
};

/// The measurements of one run.
struct LoadResult {
  std::uint64_t bytes = 0;
  unsigned failures = 0;
  double seconds = 0;
  double cpu_seconds = 0;  ///< of this process, kernel and user

  [[nodiscard]] double gigabytes_per_second() const {
    return seconds > 0 ? static_cast<double>(bytes) / 1e9 / seconds : 0;
  }
  [[nodiscard]] double cpu_seconds_per_gigabyte() const {
    return bytes > 0 ? cpu_seconds / (static_cast<double>(bytes) / 1e9) : 0;
  }
};

/// Reads the beginning of the test object repeatedly; bytes are not compared. Starts no request
/// after `time` has passed or one has failed, and waits for those in flight, at most
/// kQuestionTimeout more. Requests share the memory, since they all write the same bytes.
[[nodiscard]] LoadResult run_load(Context& context, const ReadPath& path, Load load,
                                  std::chrono::milliseconds time);

}  // namespace s3rdmafs::daemon::doctor
