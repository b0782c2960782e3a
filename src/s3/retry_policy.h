// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::s3 {

/// When a failed request is sent again: exponential back-off with full jitter (each wait is
/// anything from nothing to the bound, so that clients that failed together do not come back
/// together). Plain value; reentrant.
struct RetryPolicy {
  unsigned attempts_max = 1;  ///< the first one included
  std::chrono::milliseconds backoff_first{};
  std::chrono::milliseconds backoff_max{};

  /// When to begin the next attempt, or nothing if there is none: attempts spent, or it could not
  /// end by `deadline` any more.
  /// @param attempts_made  at least 1
  /// @param retry_after    what the server asked for; the wait is never shorter
  /// @param jitter         0 up to 1, random
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_attempt(
      unsigned attempts_made, std::chrono::steady_clock::time_point now, Deadline deadline,
      std::optional<std::chrono::seconds> retry_after, double jitter) const;
};

}  // namespace s3rdmafs::s3
