// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/retry_policy.h"

#include <algorithm>

namespace s3rdmafs::s3 {
namespace {

/// An attempt that has less time than this is not begun. Over a local network one takes about a
/// millisecond, so this leaves a loaded server some room and wastes no time.
constexpr std::chrono::milliseconds kAttemptTimeMin{10};

/// This many doublings exceed any backoff_max and are far from overflow.
constexpr unsigned kDoublingsMax = 20;

}  // namespace

std::optional<std::chrono::steady_clock::time_point> RetryPolicy::next_attempt(
    const FailedAttempts& failed, std::chrono::steady_clock::time_point now, Deadline deadline,
    std::optional<std::chrono::seconds> retry_after, double jitter) const {
  if (attempts_max <= 1 || failed.counted >= attempts_max) return std::nullopt;
  const unsigned doublings = std::min(failed.made - 1, kDoublingsMax);
  auto bound = std::min(backoff_max, backoff_first * (1U << doublings));
  if (!failed.last_was_counted) bound = std::min(bound, kUnreachedBackoffMax);
  auto wait = std::chrono::duration_cast<std::chrono::steady_clock::duration>(bound * jitter);
  if (retry_after) wait = std::max<std::chrono::steady_clock::duration>(wait, *retry_after);
  if (now + wait + kAttemptTimeMin > deadline) return std::nullopt;
  return now + wait;
}

}  // namespace s3rdmafs::s3
