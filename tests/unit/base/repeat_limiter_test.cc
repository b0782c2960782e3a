// SPDX-License-Identifier: Apache-2.0
#include "base/repeat_limiter.h"

#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RepeatLimiter::Time kStart{seconds(1'000'000)};

std::string line_about(int key) {
  return "server's answer: GET 'data/" + std::to_string(key) + "' failed: HTTP 503";
}

/// How many of `lines` lines that differ in a key pass at `now`.
unsigned passed(RepeatLimiter& limiter, int lines, RepeatLimiter::Time now) {
  unsigned count = 0;
  for (int i = 0; i < lines; ++i) count += limiter.may_pass(line_about(i), now) ? 1 : 0;
  return count;
}

TEST(RepeatLimiter, LetsSomeOfTheLinesPassThatDifferInNamesAndNumbersAlone) {
  RepeatLimiter limiter;
  EXPECT_EQ(passed(limiter, 1000, kStart), RepeatLimiter::kLinesMax);
  EXPECT_TRUE(limiter.may_pass("PUT 'data/1' failed: HTTP 503", kStart)) << "another line";
}

TEST(RepeatLimiter, TellsOnceHowManyDidNotPassWhenTheWindowIsOver) {
  RepeatLimiter limiter;
  passed(limiter, 1000, kStart);
  EXPECT_TRUE(limiter.take_dropped(kStart + RepeatLimiter::kWindow - milliseconds(1)).empty());
  const auto dropped = limiter.take_dropped(kStart + RepeatLimiter::kWindow);
  ASSERT_EQ(dropped.size(), 1U);
  EXPECT_EQ(dropped.front().count, 1000 - RepeatLimiter::kLinesMax);
  EXPECT_EQ(dropped.front().example, line_about(9)) << "the last that passed";
  EXPECT_TRUE(limiter.take_dropped(kStart + RepeatLimiter::kWindow).empty());
}

TEST(RepeatLimiter, LetsAsManyPassInTheNextWindowAndLosesNoCount) {
  RepeatLimiter limiter;
  passed(limiter, 25, kStart);
  EXPECT_EQ(passed(limiter, 25, kStart + RepeatLimiter::kWindow), RepeatLimiter::kLinesMax);
  const auto dropped = limiter.take_dropped(kStart + 2 * RepeatLimiter::kWindow);
  ASSERT_EQ(dropped.size(), 1U);
  EXPECT_EQ(dropped.front().count, 30U);
}

TEST(RepeatLimiter, LetsLinesPassWhenTheClockWasSetBack) {
  RepeatLimiter limiter;
  passed(limiter, 25, kStart);
  EXPECT_EQ(passed(limiter, 5, kStart - seconds(3600)), 5U);
}

TEST(RepeatLimiter, FollowsABoundedNumberOfKindsAndLetsOthersPass) {
  RepeatLimiter limiter;
  for (std::size_t i = 0; i < 2 * RepeatLimiter::kKindsMax; ++i) {
    EXPECT_TRUE(limiter.may_pass(std::string(i + 1, 'x'), kStart));
  }
  EXPECT_EQ(passed(limiter, 50, kStart), 50U) << "no room to count them";
  EXPECT_EQ(passed(limiter, 50, kStart + RepeatLimiter::kWindow), RepeatLimiter::kLinesMax);
}

}  // namespace
}  // namespace s3rdmafs
