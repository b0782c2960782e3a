// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::upload {

/// Work that waits a little for a server that failed. Its owner calls run() about once a second.
/// Thread-safe.
class PostponedJobs {
 public:
  /// @param is_over  the mount ends: the job must end its work, and begin nothing
  using Job = std::move_only_function<void(bool is_over)>;

  /// The job runs on the thread of the next run(), or here and now after end(). Call it without a
  /// lock.
  void add(Job job) EXCLUDES(mutex_);
  void run() EXCLUDES(mutex_);
  /// Runs what waits, with is_over.
  void end() EXCLUDES(mutex_);

 private:
  void run_all(bool is_over) EXCLUDES(mutex_);

  Mutex mutex_;  // leaf
  std::vector<Job> jobs_ GUARDED_BY(mutex_);
  bool is_over_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::upload
