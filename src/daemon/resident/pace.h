// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::daemon {

/// Spreads requests over time, so that work ahead of a job leaves a network and a server to others:
/// on average at most so many bytes and so many requests a second. Plain value.
class Pace {
 public:
  struct Limits {
    std::uint64_t bytes_per_second = 0;     ///< 0: no limit
    std::uint64_t requests_per_second = 0;  ///< 0: no limit
  };

  explicit Pace(Limits limits) : limits_(limits) {}

  /// When a request of so many bytes may be sent, which counts from then on: `now` or later.
  [[nodiscard]] Deadline next(Deadline now, std::uint64_t bytes);
  /// A request that next() counted was not sent.
  void give_back(std::uint64_t bytes);

 private:
  using Seconds = std::chrono::duration<double>;
  [[nodiscard]] Seconds time_of(std::uint64_t bytes) const;

  Limits limits_;
  Deadline free_at_{};  ///< when all that was counted has had its time
};

}  // namespace s3rdmafs::daemon
