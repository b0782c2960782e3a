// SPDX-License-Identifier: Apache-2.0
// std::mutex with clang's annotations: libstdc++'s own is invisible to the analysis.
// Plain std::mutex is refused by tests/tidy.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "s3rdmafs/base/thread_annotations.h"

namespace s3rdmafs {

/// A mutual-exclusion lock. Its place in the lock order (src/README.md) stands beside each member.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition variable. Every wait has a deadline, on purpose.
class CondVar {
 public:
  /// Waits until notified or `deadline`; spurious returns happen. False if the deadline passed.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace s3rdmafs
