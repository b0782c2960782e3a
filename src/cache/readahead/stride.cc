// SPDX-License-Identifier: Apache-2.0
// How a pattern is found. A new run follows runs of one length that begin one, two and three steps
// before it. Three steps, because two equal distances do occur among thirty random reads. The
// beginning and the end of a slice may be off by a quarter of its length: the kernel's read-around
// of a mapping moves both.
//
// Cost. The search for a pattern compares each run with each other (a microsecond), but only for a
// read that waits for the network. To follow a pattern takes a division.
#include "cache/readahead/stride.h"

#include <algorithm>

namespace s3rdmafs::cache {
namespace {

constexpr std::int64_t kStepsSeen = 3;

std::int64_t tolerance_of(std::uint64_t length_bytes) {
  return static_cast<std::int64_t>(length_bytes / 4);
}

bool are_alike(std::uint64_t a, std::uint64_t b) { return std::max(a, b) <= 2 * std::min(a, b); }

// The length of the longest run that begins at `at`, within the tolerance of its length; 0: none.
std::uint64_t length_of_run_at(std::span<const ByteRange> runs, std::int64_t at) {
  std::uint64_t longest = 0;
  for (const ByteRange& run : runs) {
    const std::int64_t distance = std::abs(static_cast<std::int64_t>(run.begin) - at);
    if (distance <= tolerance_of(run.size())) longest = std::max(longest, run.size());
  }
  return longest;
}

}  // namespace

Stride::Plan Stride::on_run(std::uint64_t begin, std::span<const ByteRange> runs, bool stalled,
                            std::uint64_t window_bytes) {
  const bool follows = step_bytes_ != 0 && is_expected(begin);
  if (!follows) {
    if (!stalled) return {};
    step_bytes_ = 0;
    if (!detect(begin, runs)) return {};
  } else {
    measure(begin, runs);
  }
  // A reader that lags behind the others finds the slices that were asked for them.
  const std::int64_t at = steps_from_anchor(begin);
  if (at > 0) {
    anchor_ = begin;  // with each step, so that a small error of the step does not add up
    asked_ = std::max<std::int64_t>(asked_ - at, 0);
  }
  const bool touching = static_cast<std::uint64_t>(std::abs(step_bytes_)) <= length_bytes_;
  const auto ahead_max =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(window_bytes / length_bytes_), 1,
                               touching ? kTouchingAheadMax : kAheadMax);
  if (stalled && follows) ahead_ *= 2;
  ahead_ = std::min(ahead_, ahead_max);

  Plan plan{.slice = {.begin = begin, .end = begin + length_bytes_}, .next = {}};
  if (asked_ > ahead_ / 2) return plan;
  while (asked_ < ahead_) {
    const std::int64_t from = static_cast<std::int64_t>(anchor_) + ++asked_ * step_bytes_;
    const std::int64_t to = from + static_cast<std::int64_t>(length_bytes_);
    plan.next.add({.begin = static_cast<std::uint64_t>(std::max<std::int64_t>(from, 0)),
                   .end = static_cast<std::uint64_t>(std::max<std::int64_t>(to, 0))});
  }
  return plan;
}

bool Stride::detect(std::uint64_t begin, std::span<const ByteRange> runs) {
  const auto here = static_cast<std::int64_t>(begin);
  std::int64_t best = 0;
  std::uint64_t best_length = 0;
  for (const ByteRange& one : runs) {
    const std::int64_t step = here - static_cast<std::int64_t>(one.begin);
    if (one.empty() || step == 0 || (best != 0 && std::abs(step) >= std::abs(best))) continue;
    const std::uint64_t two = length_of_run_at(runs, here - 2 * step);
    const std::uint64_t three = length_of_run_at(runs, here - kStepsSeen * step);
    if (two == 0 || three == 0 || !are_alike(two, three)) continue;
    const std::uint64_t length = std::max({one.size(), two, three});
    // Another reader may still be in the last run. A run that is longer than the others is not a
    // slice.
    if (one.size() > 2 * two || std::abs(step) < static_cast<std::int64_t>(two)) continue;
    best = step;
    best_length = std::min(length, static_cast<std::uint64_t>(std::abs(step)));
  }
  if (best == 0) return false;
  step_bytes_ = best;
  length_bytes_ = best_length;
  anchor_ = begin;
  asked_ = 0;
  ahead_ = 1;
  return true;
}

// Readers may still be in the latest slices, so the longest of the last ones counts.
void Stride::measure(std::uint64_t begin, std::span<const ByteRange> runs) {
  std::uint64_t longest = 0;
  for (std::int64_t steps = 1; steps <= kStepsSeen; ++steps) {
    const std::int64_t at = static_cast<std::int64_t>(begin) - steps * step_bytes_;
    longest = std::max(longest, length_of_run_at(runs, at));
  }
  if (longest == 0) return;
  length_bytes_ = std::min(longest, static_cast<std::uint64_t>(std::abs(step_bytes_)));
}

// Rounded to the nearest slice.
std::int64_t Stride::steps_from_anchor(std::uint64_t begin) const {
  const std::int64_t step = std::abs(step_bytes_);
  const std::int64_t off = static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(anchor_);
  const std::int64_t steps = (off + (off < 0 ? -step : step) / 2) / step;
  return step_bytes_ > 0 ? steps : -steps;
}

// Only near the anchor: where slices touch, every aligned offset of the object is a slice's.
bool Stride::is_expected(std::uint64_t begin) const {
  const std::int64_t at = steps_from_anchor(begin);
  const std::int64_t expected = static_cast<std::int64_t>(anchor_) + at * step_bytes_;
  return std::abs(at) <= kAheadMax &&
         std::abs(static_cast<std::int64_t>(begin) - expected) <= tolerance_of(length_bytes_);
}

}  // namespace s3rdmafs::cache
