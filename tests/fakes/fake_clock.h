// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::fakes {

/// Time that passes only when the test says so. Thread-safe.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::time_point(kUptime + passed());
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::time_point(kWallStart + passed());
  }

  /// Looks every few milliseconds whether the test has advanced the clock: advance() knows no
  /// conditions to notify.
  bool wait_until(CondVar& condition, Mutex& mutex, Deadline deadline) const
      REQUIRES(mutex) override {
    ++waits_;
    if (now() >= deadline) return false;
    condition.wait_until(mutex, std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
    return now() < deadline;
  }

  void advance(std::chrono::nanoseconds time) { passed_ns_.fetch_add(time.count()); }

  /// Waits that have begun: a thread that waits looks at the time at each. After two more than were
  /// counted, the only thread of a clock has acted on all that was before the count.
  [[nodiscard]] int waits() const { return waits_; }

 private:
  // Neither clock begins at zero, since real ones never do.
  static constexpr std::chrono::hours kUptime{1};
  static constexpr std::chrono::seconds kWallStart{1'700'000'000};  // 2023-11-14T22:13:20Z

  [[nodiscard]] std::chrono::nanoseconds passed() const {
    return std::chrono::nanoseconds(passed_ns_.load());
  }

  std::atomic<std::chrono::nanoseconds::rep> passed_ns_{0};
  mutable std::atomic<int> waits_{0};
};

}  // namespace s3rdmafs::fakes
