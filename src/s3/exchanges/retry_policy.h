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
  /// reach a server, which is expected back.
  unsigned counted = 0;
  bool last_was_counted = true;
};

/// When a failed request is sent again: exponential back-off with full jitter. Each wait is random
/// between zero and the bound, so that clients that failed together do not come back together.
/// While a server cannot be reached only the deadline ends the attempts, since a restart takes
/// seconds and a refused attempt costs next to nothing. Plain value; reentrant.
struct RetryPolicy {
  /// The longest back-off while a server cannot be reached, so that it is used soon after it is
  /// back.
  static constexpr std::chrono::milliseconds kUnreachedBackoffMax{1000};

  unsigned attempts_max = 1;  ///< the first one included; 1: no retries
  std::chrono::milliseconds backoff_first{};
  std::chrono::milliseconds backoff_max{};

  /// When to begin the next attempt. Nothing if there is none: the attempts are spent, or it could
  /// not end by `deadline`.
  /// @param failed         at least one was made
  /// @param retry_after    what the server asked for; the wait is never shorter
  /// @param jitter         0 up to 1, random
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_attempt(
      const FailedAttempts& failed, std::chrono::steady_clock::time_point now, Deadline deadline,
      std::optional<std::chrono::seconds> retry_after, double jitter) const;
};

}  // namespace s3rdmafs::s3
