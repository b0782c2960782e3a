// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs {

/// One thread that runs what it is given, in order, for work that blocks where completions and FUSE
/// workers must not. Thread-safe.
class WorkerThread {
 public:
  using Job = std::move_only_function<void()>;

  /// @param name     at most 15 characters
  /// @param on_tick  called on the thread about once a second, between jobs
  WorkerThread(std::string name, std::function<void()> on_tick);
  ~WorkerThread();

  /// False where the thread has ended, or is about to: then the job is gone, and is not run.
  bool post(Job job) EXCLUDES(mutex_);

  /// Ends the thread when no job is left, those that jobs post included. Bounded by what they do.
  /// Call once, or leave it to the destructor.
  void finish() EXCLUDES(mutex_);

 private:
  void run();
  [[nodiscard]] std::deque<Job> wait_for_work(std::chrono::steady_clock::time_point deadline)
      EXCLUDES(mutex_);

  const std::string name_;
  const std::function<void()> on_tick_;

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool finishing_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace s3rdmafs
