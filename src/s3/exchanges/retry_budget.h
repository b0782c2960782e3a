// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// Bounds how much retries add to the load, over all operations of a mount: a token bucket that
/// fills with the requests made and, slowly, with time. Without it an outage makes every client
/// send attempts_max times as much to a server that is down because it has too much to do. Retries
/// of what no server has seen (refused, unreachable) are free. Thread-safe.
class RetryBudget {
 public:
  /// What each first attempt pays in: in the long run retries are at most a fifth of the requests,
  /// which no server that keeps up otherwise will notice.
  static constexpr double kPerRequest = 0.2;
  /// The floor: a mount with one reader makes few requests and must still ride out a restart of the
  /// server. Ten readers that back off for about a second each need no more.
  static constexpr double kPerSecond = 10;
  /// The most that is saved: a restart fails what is in flight, some tens of requests
  /// (http.connections_max), and each may be sent again, most of them twice.
  static constexpr double kCapacity = 100;

  explicit RetryBudget(const Clock& clock);

  void on_request();
  /// Takes one retry out; false if there is none left.
  [[nodiscard]] bool try_spend();

 private:
  void refill() REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;  // leaf
  double tokens_ GUARDED_BY(mutex_) = kCapacity;
  std::chrono::steady_clock::time_point filled_at_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
