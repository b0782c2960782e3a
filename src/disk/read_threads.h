// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "disk/verified_read.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::disk {

/// Threads that read from the disk. A job that waits too long in their queue is given up, by a
/// thread of its own that does so even while all the others hang in the device. Thread-safe.
class ReadThreads {
 public:
  /// Called once: with scratch memory, to read from the disk; or with nullptr, if the disk is late
  /// or the threads end, and the bytes have to come from elsewhere.
  using Job = std::move_only_function<void(Scratch*)>;

  struct Options {
    unsigned threads = 0;
    std::size_t queue_max = 0;
    /// A job that has waited longer is given up, at the latest when it has waited twice as long.
    std::chrono::milliseconds patience{};
  };
  /// Borrows the clock.
  ReadThreads(const Clock& clock, Options options);
  ~ReadThreads();

  /// Queues the job; false where the queue is full, and then the job is untouched.
  [[nodiscard]] bool try_post(Job& job) EXCLUDES(mutex_);
  /// Waits for running jobs, gives up all others, and ends the threads. Call it once, or leave it
  /// to the destructor.
  void finish() EXCLUDES(mutex_);

 private:
  struct Waiting {
    Job job;
    std::chrono::steady_clock::time_point since;
  };
  void run();
  void watch(Deadline next_look);
  /// A job that waits since before then is late.
  [[nodiscard]] std::chrono::steady_clock::time_point late_before() const {
    return clock_.now() - options_.patience;
  }
  [[nodiscard]] std::vector<Waiting> take_late(std::chrono::steady_clock::time_point since_before)
      EXCLUDES(mutex_);

  const Clock& clock_;
  const Options options_;
  Mutex mutex_;  // leaf
  CondVar wake_;
  CondVar ending_;
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  bool finishing_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: end before what they use
};

}  // namespace s3rdmafs::disk
