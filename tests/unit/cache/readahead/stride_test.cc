// SPDX-License-Identifier: Apache-2.0
#include "cache/readahead/stride.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::uint64_t kWindow = 16 * kMiB;

// A reader of slices, which are all of one length and never go on.
class StrideTest : public testing::Test {
 protected:
  Stride::Plan run(std::uint64_t begin, std::uint64_t length, bool stalled = true) {
    const Stride::Plan plan = stride_.on_run(begin, runs_, stalled, kWindow);
    runs_.push_back({.begin = begin, .end = begin + length});
    return plan;
  }

  Stride stride_;
  std::vector<ByteRange> runs_;
};

TEST_F(StrideTest, SeesTheFourthOfEqualSteps) {
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(run(i * 32 * kMiB, 4 * kMiB).slice.empty());
  const Stride::Plan plan = run(96 * kMiB, 4 * kMiB);
  EXPECT_EQ(plan.slice, (ByteRange{96 * kMiB, 100 * kMiB}));
  ASSERT_EQ(plan.next.size(), 1U);
  EXPECT_EQ(*plan.next.begin(), (ByteRange{128 * kMiB, 132 * kMiB}));
}

TEST_F(StrideTest, SeesNothingInUnequalSteps) {
  for (const std::uint64_t at : {0, 32, 70, 96, 140, 200, 201}) {
    EXPECT_TRUE(run(at * kMiB, 4 * kMiB).slice.empty()) << at;
  }
}

TEST_F(StrideTest, SeesNothingInUnequalLengths) {
  run(0, 4 * kMiB);
  run(32 * kMiB, 1 * kMiB);
  run(64 * kMiB, 4 * kMiB);
  EXPECT_TRUE(run(96 * kMiB, 4 * kMiB).slice.empty());
}

TEST_F(StrideTest, GoesFurtherAheadOnlyWhileTheReaderStalls) {
  for (std::uint64_t i = 0; i < 4; ++i) run(i * 32 * kMiB, 1 * kMiB);
  EXPECT_EQ(run(128 * kMiB, kMiB, /*stalled=*/true).next.size(), 2U);
  std::size_t asked = 2;
  for (std::uint64_t i = 5; i < 25; ++i) {
    asked += run(i * 32 * kMiB, kMiB, /*stalled=*/false).next.size();
  }
  EXPECT_EQ(asked, 20U + 2U) << "one for each that was read, and never more than two ahead";
}

TEST_F(StrideTest, NeverAsksForMoreThanTheWindowHolds) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Stride::Plan plan = run(i * 32 * kMiB, 4 * kMiB);
    for (const ByteRange range : plan.next) {
      EXPECT_LE(range.end, i * 32 * kMiB + kWindow / (4 * kMiB) * 32 * kMiB + 4 * kMiB);
    }
  }
}

TEST_F(StrideTest, AsksForEachSliceOnce) {
  std::vector<ByteRange> asked;
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (const ByteRange range : run(i * 8 * kMiB, kMiB, /*stalled=*/i % 3 == 0).next) {
      for (const ByteRange earlier : asked) EXPECT_NE(range, earlier);
      asked.push_back(range);
    }
  }
  EXPECT_GT(asked.size(), 30U);
}

// The kernel reads around a fault of a mapping: runs begin and end somewhere near the slice's ends.
TEST_F(StrideTest, FollowsSlicesThatAreALittleOff) {
  std::mt19937_64 random(1);
  std::size_t seen = 0;
  for (std::uint64_t i = 1; i < 40; ++i) {
    const std::uint64_t off = random() % (900 * kKiB);
    seen += !run(i * 32 * kMiB - off, 4 * kMiB + off / 2).slice.empty();
  }
  EXPECT_GT(seen, 30U);
}

// Where several readers share the slices, the first runs seen are still being read.
TEST_F(StrideTest, LearnsThatSlicesAreLongerThanTheySeemed) {
  for (std::uint64_t i = 0; i < 5; ++i) run(i * 32 * kMiB, 2 * kMiB);
  run(160 * kMiB, 4 * kMiB);
  EXPECT_EQ(run(192 * kMiB, 4 * kMiB).slice.size(), 4 * kMiB);
  for (std::uint64_t i = 7; i < 10; ++i) run(i * 32 * kMiB, 2 * kMiB);
  EXPECT_EQ(run(320 * kMiB, 2 * kMiB).slice.size(), 2 * kMiB) << "and shorter again";
}

TEST_F(StrideTest, FollowsAFileThatIsReadBackwards) {
  for (std::uint64_t i = 100; i > 97; --i) EXPECT_TRUE(run(i * kMiB, kMiB).slice.empty());
  const Stride::Plan plan = run(97 * kMiB, kMiB);
  ASSERT_FALSE(plan.next.empty());
  EXPECT_EQ(plan.next.begin()->end, 97 * kMiB);
}

TEST_F(StrideTest, EndsAtTheBeginningOfAFileThatIsReadBackwards) {
  for (std::uint64_t i = 20; i-- > 0;) {
    for (const ByteRange range : run(i * kMiB + 1000, kMiB).next) EXPECT_LT(range.end, 20 * kMiB);
  }
}

TEST_F(StrideTest, ForgetsThePatternAtAStallElsewhere) {
  for (std::uint64_t i = 0; i < 5; ++i) run(i * 32 * kMiB, 4 * kMiB);
  EXPECT_TRUE(run(900 * kMiB + 5000, 4 * kMiB).slice.empty());
  runs_.clear();
  EXPECT_TRUE(run(160 * kMiB, 4 * kMiB).slice.empty());
}

}  // namespace
}  // namespace s3rdmafs::cache
