// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "rdma/token.h"
#include "s3rdmafs/base/cooldown.h"

namespace s3rdmafs::rdma::mlx5 {

/// Whether a rail whose port is up has been failing its transfers: a broken switch, or a server on
/// another network, does not show in the port's state. Thread-safe, lock-free.
class RailHealth {
 public:
  /// So many failures in a row make a rail suspect: one or two may be the server's. The number is
  /// that of cuObject's configuration (rdma_unhealthy_threshold).
  static constexpr int kFailuresMax = 3;
  /// After this pause a suspect rail gets one transfer, to see whether it works again. Each such
  /// transfer that fails is a slow read, so the next pause is twice as long.
  static constexpr std::chrono::milliseconds kRetryInterval{1000};
  /// The longest pause. A rail that leads nowhere then costs nearly nothing, and one that was
  /// repaired is used again while the operator still watches.
  static constexpr std::chrono::milliseconds kRetryIntervalMax{std::chrono::minutes{5}};

  /// Borrows the clock.
  explicit RailHealth(const Clock& clock) : retry_(clock) {}

  /// Whether the next transfer may go by this rail. Of a suspect one, true once an interval.
  [[nodiscard]] bool may_take() noexcept {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return true;
    const std::chrono::milliseconds next = std::min(2 * interval_.load(), kRetryIntervalMax);
    if (!retry_.try_again(next)) return false;
    interval_.store(next);
    return true;
  }

  /// Whether a request by this rail should come from the rail's address. False while connections
  /// from there fail, except for the one transfer that tries again.
  [[nodiscard]] bool may_bind() const noexcept {
    return unconnected_.load(std::memory_order_relaxed) < kFailuresMax || retry_.is_over();
  }

  /// A transfer is over. One success clears the rail. A request that was never sent says nothing
  /// about it, unless connecting failed from this rail's address alone. A request that was given up
  /// says nothing either: its server was slow. An answer to a request from another address says
  /// nothing about this rail's connections.
  /// @return  whether this has just made the rail suspect
  bool on_end(TokenFate fate) noexcept {
    if (fate == TokenFate::kGivenUp || fate == TokenFate::kUnsent) {
      give_try_back();
      return false;
    }
    if (fate == TokenFate::kAnsweredUnbound && unconnected_.load() != 0) return false;
    if (fate == TokenFate::kAnswered || fate == TokenFate::kAnsweredUnbound) {
      clear();
      return false;
    }
    if (fate == TokenFate::kUnconnected) unconnected_.fetch_add(1);
    retry_.start(interval_.load());
    return failures_.fetch_add(1) == kFailuresMax - 1;
  }

 private:
  // The transfer that was to try a suspect rail did not try it. Without this, the rail's next try
  // would be minutes away after an outage of the server.
  void give_try_back() noexcept {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return;
    interval_.store(std::max(interval_.load() / 2, kRetryInterval));
    retry_.start(interval_.load());
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
  Cooldown retry_;  // until a suspect rail gets its next transfer
};

}  // namespace s3rdmafs::rdma::mlx5
