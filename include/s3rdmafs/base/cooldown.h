// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "s3rdmafs/base/clock.h"

namespace s3rdmafs {

/// A pause after which something may be tried again. Thread-safe, lock-free. Borrows the clock.
class Cooldown {
 public:
  /// Over from the start.
  explicit Cooldown(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] bool is_over() const noexcept { return clock_.now() >= ends_at(); }

  /// When it is over; in the past where it is over already.
  [[nodiscard]] Deadline ends_at() const noexcept {
    return ends_at_.load(std::memory_order_relaxed);
  }

  /// Begins a pause now, in place of one that is under way.
  void start(std::chrono::nanoseconds pause) noexcept {
    ends_at_.store(clock_.now() + pause, std::memory_order_relaxed);
  }

  /// Where it is over, begins the next pause. True for one caller only: the one who may try.
  [[nodiscard]] bool try_again(std::chrono::nanoseconds next_pause) noexcept {
    const Deadline now = clock_.now();
    Deadline seen = ends_at();
    return now >= seen && ends_at_.compare_exchange_strong(seen, now + next_pause);
  }

 private:
  const Clock& clock_;
  std::atomic<Deadline> ends_at_{Deadline::min()};
};

}  // namespace s3rdmafs
