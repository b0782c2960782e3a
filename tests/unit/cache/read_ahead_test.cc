// SPDX-License-Identifier: Apache-2.0
#include "cache/read_ahead.h"

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

constexpr std::uint64_t kObject = 1 * kGiB;
constexpr std::uint64_t kWindowMax = 16 * kMiB;

TEST(ReadAhead, StartsAtOnceAtTheBeginningOfAnObject) {
  ReadAhead policy(kObject);
  const ByteRange range = policy.on_read(0, 128 * kKiB, /*stalled=*/true, kWindowMax);
  EXPECT_EQ(range.begin, 128 * kKiB);
  EXPECT_EQ(range.end, 128 * kKiB + ReadAhead::kWindowFirstBytes);
}

TEST(ReadAhead, FetchesNothingForASingleReadElsewhere) {
  ReadAhead policy(kObject);
  EXPECT_TRUE(policy.on_read(100 * kMiB, 4 * kKiB, true, kWindowMax).empty());
}

TEST(ReadAhead, StartsWithTheSecondReadOfASequence) {
  ReadAhead policy(kObject);
  std::ignore = policy.on_read(100 * kMiB, 64 * kKiB, true, kWindowMax);
  EXPECT_FALSE(policy.on_read(100 * kMiB + 64 * kKiB, 64 * kKiB, true, kWindowMax).empty());
}

TEST(ReadAhead, FetchesNothingForReadsAllOverTheObject) {
  ReadAhead policy(kObject);
  for (const std::uint64_t at : {900, 17, 430, 77, 610, 250}) {
    EXPECT_TRUE(policy.on_read(at * kMiB, 4 * kKiB, true, kWindowMax).empty()) << at;
  }
}

// Reads `count` MiB one by one and returns the largest stretch that was asked for at once.
std::uint64_t largest_stretch(ReadAhead& policy, std::uint64_t count, bool stalled) {
  std::uint64_t largest = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    const ByteRange range = policy.on_read(at * kMiB, kMiB, stalled, kWindowMax);
    if (!range.empty()) largest = std::max(largest, range.end - range.begin);
  }
  return largest;
}

TEST(ReadAhead, DoublesItsWindowUpToTheLimitWhileTheReaderStalls) {
  ReadAhead policy(kObject);
  const std::uint64_t largest = largest_stretch(policy, 100, /*stalled=*/true);
  EXPECT_GT(largest, kWindowMax / 2);
  EXPECT_LE(largest, kWindowMax);
}

TEST(ReadAhead, KeepsItsWindowWhileTheReaderFindsEverything) {
  ReadAhead policy(kObject);
  EXPECT_LE(largest_stretch(policy, 100, /*stalled=*/false), ReadAhead::kWindowFirstBytes);
}

TEST(ReadAhead, NeverAsksTwiceForTheSameBytesNorPastTheEnd) {
  ReadAhead policy(/*object_bytes=*/40 * kMiB);
  std::uint64_t asked_to = 0;
  for (std::uint64_t at = 0; at < 40; ++at) {
    const ByteRange range = policy.on_read(at * kMiB, kMiB, true, kWindowMax);
    if (range.empty()) continue;
    EXPECT_GE(range.begin, asked_to);
    EXPECT_LE(range.end, 40 * kMiB);
    asked_to = range.end;
  }
  EXPECT_EQ(asked_to, 40 * kMiB);
}

TEST(ReadAhead, TellsInterleavedReadersApart) {
  ReadAhead policy(kObject);
  for (std::uint64_t step = 0; step < 4; ++step) {
    std::ignore = policy.on_read(100 * kMiB + step * 64 * kKiB, 64 * kKiB, true, kWindowMax);
    std::ignore = policy.on_read(500 * kMiB + step * 64 * kKiB, 64 * kKiB, true, kWindowMax);
  }
  // Each goes on where its own sequence stopped, and outruns what was fetched for it.
  const ByteRange low = policy.on_read(100 * kMiB + 256 * kKiB, 8 * kMiB, true, kWindowMax);
  const ByteRange high = policy.on_read(500 * kMiB + 256 * kKiB, 8 * kMiB, true, kWindowMax);
  EXPECT_GT(low.begin, 108 * kMiB);
  EXPECT_LT(low.end, 200 * kMiB);
  EXPECT_GT(high.begin, 508 * kMiB);
  EXPECT_LT(high.end, 600 * kMiB);
}

TEST(ReadAhead, StaysSilentWhereItIsSwitchedOff) {
  ReadAhead policy(kObject);
  EXPECT_TRUE(policy.on_read(0, kMiB, true, /*window_max_bytes=*/0).empty());
}

}  // namespace
}  // namespace s3rdmafs::cache
