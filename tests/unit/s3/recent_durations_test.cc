// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/recent_durations.h"

#include <gtest/gtest.h>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;

TEST(SizeClass, DoublesFromFourKibibytesOn) {
  EXPECT_EQ(size_class(0, 9), 0U);
  EXPECT_EQ(size_class(4 * kKiB, 9), 0U);
  EXPECT_EQ(size_class(4 * kKiB + 1, 9), 1U);
  EXPECT_EQ(size_class(8 * kKiB, 9), 1U);
  EXPECT_EQ(size_class(kMiB, 9), 8U);
  EXPECT_EQ(size_class(kGiB, 9), 8U) << "the last class has all that are longer";
}

TEST(RecentDurations, HaveAMeanOfEachClassOnceItHasSamplesEnough) {
  RecentDurations durations(2, /*memory=*/4, /*samples_min=*/2);
  durations.add(1, 10ns);
  EXPECT_FALSE(durations.mean(1));
  durations.add(1, 20ns);
  EXPECT_EQ(durations.mean(1)->count(), 15);
  EXPECT_FALSE(durations.mean(8 * kKiB)) << "another class";
}

TEST(RecentDurations, ForgetOldSamples) {
  RecentDurations durations(1, /*memory=*/4, /*samples_min=*/1);
  for (int i = 0; i < 1000; ++i) durations.add(1, 10ns);
  for (int i = 0; i < 20; ++i) durations.add(1, 100ns);
  EXPECT_GT(durations.mean(1)->count(), 99);
}

}  // namespace
}  // namespace s3rdmafs::s3
