// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/pace.h"

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Deadline kNow{std::chrono::hours(1)};

TEST(PaceTest, WithoutALimitEveryRequestIsSentAtOnce) {
  Pace pace({});
  EXPECT_EQ(pace.next(kNow, 1'000'000'000), kNow);
  EXPECT_EQ(pace.next(kNow, 1), kNow);
}

TEST(PaceTest, ARequestWaitsForTheTimeOfTheBytesBeforeIt) {
  Pace pace({.bytes_per_second = 1000});
  EXPECT_EQ(pace.next(kNow, 500), kNow);
  EXPECT_EQ(pace.next(kNow, 2000), kNow + milliseconds(500));
  EXPECT_EQ(pace.next(kNow, 1), kNow + milliseconds(2500));
}

TEST(PaceTest, TheStricterOfBothLimitsCounts) {
  Pace pace({.bytes_per_second = 1000, .requests_per_second = 2});
  EXPECT_EQ(pace.next(kNow, 1), kNow);
  EXPECT_EQ(pace.next(kNow, 3000), kNow + milliseconds(500));
  EXPECT_EQ(pace.next(kNow, 1), kNow + milliseconds(3500));
}

TEST(PaceTest, ARequestThatWasNotSentTakesNoTime) {
  Pace pace({.bytes_per_second = 1000});
  EXPECT_EQ(pace.next(kNow, 2000), kNow);
  EXPECT_EQ(pace.next(kNow, 5000), kNow + seconds(2));
  pace.give_back(5000);
  EXPECT_EQ(pace.next(kNow, 1), kNow + seconds(2));
}

TEST(PaceTest, TimeWithoutRequestsIsNotSavedUp) {
  Pace pace({.bytes_per_second = 1000});
  EXPECT_EQ(pace.next(kNow, 1000), kNow);
  const Deadline later = kNow + seconds(60);
  EXPECT_EQ(pace.next(later, 1000), later);
  EXPECT_EQ(pace.next(later, 1000), later + seconds(1));
}

}  // namespace
}  // namespace s3rdmafs::daemon
