// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::upload {

/// How long bytes that have no other copy wait for a server that fails. Not thread-safe.
class Patience {
 public:
  /// @param request_timeout  retry.deadline, the bound of one request with its retries
  explicit Patience(std::chrono::milliseconds request_timeout)
      : most_(kRequests * request_timeout) {}

  /// A request failed. Whether to try again a little later.
  [[nodiscard]] bool lasts(ErrorCode code, std::chrono::steady_clock::time_point now) {
    if (!failing_since_) failing_since_ = now;
    return may_pass(code) && now - *failing_since_ < most_;
  }
  /// A request succeeded.
  void renew() { failing_since_.reset(); }

 private:
  /// By default five minutes, which a server takes to start again or another to take its place.
  static constexpr int kRequests = 10;

  [[nodiscard]] static bool may_pass(ErrorCode code) {
    return is_retryable(code) || code == ErrorCode::kTimedOut || code == ErrorCode::kNoMemory ||
           code == ErrorCode::kNoCredentials;
  }

  const std::chrono::milliseconds most_;
  std::optional<std::chrono::steady_clock::time_point> failing_since_;
};

}  // namespace s3rdmafs::upload
