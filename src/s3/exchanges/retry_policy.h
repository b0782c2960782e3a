// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::s3 {

/// The failed attempts of one operation.
struct FailedAttempts {
  unsigned made = 0;  ///< all of them
  /// Those that count towards attempts_max: the server answered, or kept silent. The others did not
  /// reach a server that is expected back.
  unsigned counted = 0;
  bool last_was_counted = true;
};

/// When a failed request is sent again: exponential back-off with full jitter (each wait is
/// anything from nothing to the bound, so that clients that failed together do not come back
/// together). While a server cannot be reached the deadline alone ends the attempts, since a
/// restart takes seconds and an attempt that is refused costs nobody anything. Plain value;
/// reentrant.
struct RetryPolicy {
  /// The longest back-off while a server cannot be reached, so that it is used again as soon as it
  /// is back.
  static constexpr std::chrono::milliseconds kUnreachedBackoffMax{1000};

  unsigned attempts_max = 1;  ///< the first one included; 1: nothing is ever made again
  std::chrono::milliseconds backoff_first{};
  std::chrono::milliseconds backoff_max{};

  /// When to begin the next attempt, or nothing if there is none: attempts spent, or it could not
  /// end by `deadline` any more.
  /// @param failed  at least one was made
  /// @param retry_after    what the server asked for; the wait is never shorter
  /// @param jitter         0 up to 1, random
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_attempt(
      const FailedAttempts& failed, std::chrono::steady_clock::time_point now, Deadline deadline,
      std::optional<std::chrono::seconds> retry_after, double jitter) const;
};

}  // namespace s3rdmafs::s3
