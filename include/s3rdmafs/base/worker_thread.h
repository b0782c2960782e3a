// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs {

/// One thread that runs the jobs it is given, in order: for work that blocks where completions and
/// FUSE workers must not. Thread-safe.
class WorkerThread {
 public:
  using Job = std::move_only_function<void()>;

  /// How long on_tick waits after its last call, or after the start.
  static constexpr std::chrono::seconds kTick{1};

  /// Borrows the clock.
  /// @param name     at most 15 characters
  /// @param on_tick  called on the thread about once a kTick of `clock`, between jobs
  WorkerThread(std::string name, const Clock& clock, std::function<void()> on_tick);
  ~WorkerThread();

  /// Queues a job; the queue is unbounded. False where the thread has ended: the job is destroyed
  /// and does not run.
  bool post(Job job) EXCLUDES(mutex_);

  /// Ends the thread when no job is left, including those that jobs post. Blocks as long as the
  /// jobs take. Call it once, or leave it to the destructor.
  void finish() EXCLUDES(mutex_);
  /// Whether finish() was called, so that a job can leave out what need not be done any more.
  [[nodiscard]] bool is_finishing() const EXCLUDES(mutex_);

 private:
  void run(Deadline next_tick);
  [[nodiscard]] std::deque<Job> wait_for_work(Deadline deadline) EXCLUDES(mutex_);

  const std::string name_;
  const Clock& clock_;
  const std::function<void()> on_tick_;

  mutable Mutex mutex_;  // leaf
  CondVar wake_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool finishing_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace s3rdmafs
