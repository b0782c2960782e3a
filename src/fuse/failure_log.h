// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::fuse {

/// Says in the log why requests failed, where the program learns it from an errno only: EIO,
/// EACCES, ENOMEM, ENOSPC, EOPNOTSUPP. Errors that a program's own call explains (ENOENT, EEXIST)
/// are not logged. Thread-safe.
class FailureLog {
 public:
  /// Lines in each window; failures beyond them are counted, and the next line after the window
  /// says how many they were.
  static constexpr unsigned kLinesMax = 10;
  static constexpr std::chrono::seconds kWindow{10};

  /// Borrows both.
  FailureLog(const Clock& clock, metrics::Registry& metrics);

  /// A request is answered with the errno of `error`.
  void report(const Error& error) EXCLUDES(mutex_);

 private:
  /// Whether this failure gets a line, and how many before it had none.
  [[nodiscard]] bool take_line(unsigned& silent) EXCLUDES(mutex_);

  const Clock& clock_;
  metrics::Counter& errors_;

  Mutex mutex_;  // leaf
  Deadline window_end_ GUARDED_BY(mutex_){};
  unsigned lines_ GUARDED_BY(mutex_) = 0;
  unsigned silent_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::fuse
