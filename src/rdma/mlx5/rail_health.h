// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "rdma/token.h"

namespace s3rdmafs::rdma::mlx5 {

/// Whether a rail that looks well has been failing its transfers: a switch on its way, or a server
/// that is not on its network, shows in no port's state. Thread-safe, lock-free.
class RailHealth {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// So many failures in a row make a rail suspect: one or two may be a server's bad moment. As in
  /// cuObject's configuration (rdma_unhealthy_threshold).
  static constexpr int kFailuresMax = 3;
  /// A suspect rail gets one transfer in so long, to see whether it works again: what that costs is
  /// a slow read a second.
  static constexpr std::chrono::milliseconds kRetryInterval{1000};

  /// Whether the next transfer may go by this rail. Of a suspect one, true once an interval.
  [[nodiscard]] bool may_take(TimePoint now) noexcept {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return true;
    TimePoint retry_at = retry_at_.load(std::memory_order_relaxed);
    return now >= retry_at && retry_at_.compare_exchange_strong(retry_at, now + kRetryInterval);
  }

  /// A transfer is over. One success clears the rail; everything else counts against it, also what
  /// was never sent: its connection was to come from this rail's address. But not what nobody
  /// waited for: another server was asked because this one was slow.
  /// @return  whether this has just made the rail suspect
  bool on_end(TokenFate fate, TimePoint now) noexcept {
    if (fate == TokenFate::kGivenUp) return false;
    if (fate == TokenFate::kAnswered) {
      if (failures_.load(std::memory_order_relaxed) != 0) failures_.store(0);
      return false;
    }
    retry_at_.store(now + kRetryInterval, std::memory_order_relaxed);
    return failures_.fetch_add(1) == kFailuresMax - 1;
  }

 private:
  std::atomic<int> failures_{0};  // in a row
  std::atomic<TimePoint> retry_at_{TimePoint{}};
};

}  // namespace s3rdmafs::rdma::mlx5
