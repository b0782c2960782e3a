// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace s3rdmafs {

/// The processor time of this process so far, kernel and user, all threads.
[[nodiscard]] inline double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace s3rdmafs
