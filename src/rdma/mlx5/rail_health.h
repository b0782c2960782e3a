// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
  /// After so long a suspect rail gets one transfer, to see whether it works again. Each such
  /// transfer that fails is a slow read, so the next pause is twice as long.
  static constexpr std::chrono::milliseconds kRetryInterval{1000};
  /// The longest pause: a rail that leads nowhere then costs nothing, and whoever repairs one still
  /// watches when it is used again.
  static constexpr std::chrono::milliseconds kRetryIntervalMax{std::chrono::minutes{5}};

  /// Whether the next transfer may go by this rail. Of a suspect one, true once an interval.
  [[nodiscard]] bool may_take(TimePoint now) noexcept {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return true;
    TimePoint retry_at = retry_at_.load(std::memory_order_relaxed);
    if (now < retry_at) return false;
    const std::chrono::milliseconds next = std::min(2 * interval_.load(), kRetryIntervalMax);
    if (!retry_at_.compare_exchange_strong(retry_at, now + next)) return false;
    interval_.store(next);
    return true;
  }

  /// Whether a request by this rail should come from the rail's address. Not where connections from
  /// there do not come about, but for the transfer that sees whether they do again.
  [[nodiscard]] bool may_bind(TimePoint now) const noexcept {
    return unconnected_.load(std::memory_order_relaxed) < kFailuresMax ||
           now >= retry_at_.load(std::memory_order_relaxed);
  }

  /// A transfer is over. One success clears the rail. What was never sent says nothing about it,
  /// unless only this rail's address could not be connected from; nor does what nobody waited for:
  /// another server was asked because this one was slow. An answer to a request from another
  /// address says nothing about this rail's connections.
  /// @return  whether this has just made the rail suspect
  bool on_end(TokenFate fate, TimePoint now) noexcept {
    if (fate == TokenFate::kGivenUp || fate == TokenFate::kUnsent) {
      give_try_back(now);
      return false;
    }
    if (fate == TokenFate::kAnsweredUnbound && unconnected_.load() != 0) return false;
    if (fate == TokenFate::kAnswered || fate == TokenFate::kAnsweredUnbound) {
      clear();
      return false;
    }
    if (fate == TokenFate::kUnconnected) unconnected_.fetch_add(1);
    retry_at_.store(now + interval_.load(), std::memory_order_relaxed);
    return failures_.fetch_add(1) == kFailuresMax - 1;
  }

 private:
  // The transfer that was to try a suspect rail tried nothing: without this, an outage of the
  // server would leave the rail's next try minutes away.
  void give_try_back(TimePoint now) noexcept {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return;
    interval_.store(std::max(interval_.load() / 2, kRetryInterval));
    retry_at_.store(now + interval_.load(), std::memory_order_relaxed);
  }

  void clear() noexcept {
    if (failures_.load(std::memory_order_relaxed) == 0) return;  // no write in steady state
    unconnected_.store(0);
    interval_.store(kRetryInterval);
    failures_.store(0);
  }

  std::atomic<int> failures_{0};     // in a row
  std::atomic<int> unconnected_{0};  // of these
  std::atomic<std::chrono::milliseconds> interval_{kRetryInterval};
  std::atomic<TimePoint> retry_at_{TimePoint{}};
};

}  // namespace s3rdmafs::rdma::mlx5
