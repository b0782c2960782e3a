// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fuse {

/// The last opens of files: when, who, how, which. Thread-safe.
class AccessLog {
 public:
  struct Access {
    std::chrono::system_clock::time_point time{};
    pid_t thread = 0;  ///< that opened it; 0: of another PID namespace
    uid_t uid = 0;
    int flags = 0;     ///< of open(2)
    std::string path;  ///< below the mount point
  };
  /// A job that opens a thousand files a second is seen for four seconds; they take about 1 MB.
  static constexpr std::size_t kAccessesMax = 4096;

  void add(Access access) EXCLUDES(mutex_);
  /// A line for each: time (UTC), process, its name ("-" once it has ended), user, "r", "w" or
  /// "rw", and the path, which ends the line.
  [[nodiscard]] std::string text() const EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::vector<Access> in_order() const EXCLUDES(mutex_);

  mutable Mutex mutex_;                              // leaf
  std::vector<Access> accesses_ GUARDED_BY(mutex_);  // a ring once it is full
  std::size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::fuse
