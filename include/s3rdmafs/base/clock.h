// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs {

/// The moment at which a wait ends. Absolute, so that it survives being passed down.
using Deadline = std::chrono::steady_clock::time_point;

/// The source of time; tests replace it by a fake (tests/fakes/fake_clock.h). Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// For deadlines and ages: never goes back.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  /// For signatures and time stamps: the time of day.
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall_now() const = 0;
  /// CondVar::wait_until() by this clock: waits until `condition` is notified or now() reaches
  /// `deadline`; spurious returns happen. False if the deadline has passed.
  virtual bool wait_until(CondVar& condition, Mutex& mutex, Deadline deadline) const
      REQUIRES(mutex) {
    return condition.wait_until(mutex, deadline);
  }
};

/// The machine's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::now();
  }
};

}  // namespace s3rdmafs
