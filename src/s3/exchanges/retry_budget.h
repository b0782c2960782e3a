// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "s3/endpoints/token_bucket.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// Bounds how much retries add to the load, over all operations of a mount. It fills with the
/// requests made and, slowly, with time. Without it every client would send attempts_max times as
/// much to a server that fails because it has too much to do. Retries of attempts that no server
/// has seen (refused, unreachable) are free. Thread-safe.
class RetryBudget {
 public:
  /// The part of a retry that each request earns: in the long run retries are at most a fifth of
  /// the requests, which a server that keeps up otherwise does not notice.
  static constexpr double kPerRequest = 0.2;
  /// Retries earned per second: a mount with one reader makes few requests and must still ride out
  /// a restart of the server. Ten readers that back off for about a second each need no more.
  static constexpr double kPerSecond = 10;
  /// The most that is saved up: a restart fails the requests in flight, some tens
  /// (http.connections_max), and each may be sent again, most of them twice.
  static constexpr double kCapacity = 100;

  /// Borrows the clock.
  explicit RetryBudget(const Clock& clock) : clock_(clock), filled_at_(clock.now()) {}

  void on_request();
  /// Takes one retry out; false if there is none left.
  [[nodiscard]] bool try_spend();

 private:
  const Clock& clock_;
  Mutex mutex_;  // leaf
  TokenBucket saved_ GUARDED_BY(mutex_){kCapacity, kCapacity};
  std::chrono::steady_clock::time_point filled_at_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
