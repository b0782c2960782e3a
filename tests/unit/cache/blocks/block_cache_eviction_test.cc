// SPDX-License-Identifier: Apache-2.0
// What the block cache evicts, and what it protects.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "block_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(BlockCacheTest, EvictsTheLeastRecentlyReadWhenFull) {
  start(/*slabs=*/2);  // 16 blocks of a MiB
  constexpr std::size_t kLength = kMiB;
  const std::string bytes = pattern(32 * kMiB);
  const auto reader = put_and_open("k", bytes);
  for (std::uint64_t at = 0; at < 32 * kMiB; at += 1 * kMiB) {
    ASSERT_EQ(read_now(*reader, at, kLength), bytes.substr(at, kLength)) << at;
  }
  const std::size_t fetched = gets();
  std::ignore = read_now(*reader, 31 * kMiB, kLength);
  EXPECT_EQ(gets(), fetched) << "the newest is still there";
  std::ignore = read_now(*reader, 0, kLength);
  EXPECT_EQ(gets(), fetched + 1) << "the oldest is not";
}

// A training set that is read every epoch, and a checkpoint in shards that passes by once.
TEST_F(BlockCacheTest, ProtectsDataOfEveryEpochWhileMoreThanTheCacheHoldsStreamsBy) {
  start(/*slabs=*/4);
  const auto epoch = put_and_open("set", std::string(8 * kMiB, 'x'));
  EXPECT_EQ(gets_of_reading(*epoch, 8 * kMiB), 8U);
  stream_by();
  EXPECT_EQ(gets_of_reading(*epoch, 8 * kMiB), 8U) << "the control: read once, it went";
  clock_.advance(seconds(60));
  EXPECT_EQ(gets_of_reading(*epoch, 8 * kMiB), 0U);
  stream_by();
  EXPECT_EQ(gets_of_reading(*epoch, 8 * kMiB), 0U);
}

TEST_F(BlockCacheTest, AnObjectLargerThanTheCacheMakesRoomForItself) {
  start(/*slabs=*/8);
  const auto other = put_and_open("other", std::string(8 * kMiB, 'x'));
  const auto large = put_and_open("large", std::string(96 * kMiB, 'x'));
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 8U);
  EXPECT_EQ(gets_of_reading(*large, 96 * kMiB), 96U);
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 0U) << "although it was read once only, before";
  EXPECT_EQ(gets_of_reading(*large, 8 * kMiB), 0U) << "and its own beginning is there";
  // The control: objects that the cache could hold.
  for (int i = 0; i < 2; ++i) stream_by();
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 8U);
}

TEST_F(BlockCacheTest, ReadersHalfACacheAfterTheFirstFindItsBytesOfAnObjectLargerThanTheCache) {
  const std::string bytes(96 * kMiB, 'x');
  const ObjectVersion version{
      .key = "large", .etag = store_.put("large", bytes), .size_bytes = bytes.size()};
  const auto gets_of_those_behind = [&](std::size_t slabs, std::vector<std::uint64_t> behind,
                                        std::chrono::milliseconds step) {
    start(slabs);
    std::size_t more = 0;
    const auto large = cache_->open(version);
    for (std::uint64_t at = 0; at < version.size_bytes; at += kMiB) {
      EXPECT_TRUE(arrives_now(*large, at, kMiB));
      const std::size_t before = gets();
      for (const std::uint64_t distance : behind) {
        if (at >= distance) {
          EXPECT_TRUE(arrives_now(*large, at - distance, kMiB));
        }
      }
      more += gets() - before;
      clock_.advance(step);
    }
    return more;
  };
  for (const std::size_t slabs : {8, 9, 10}) {
    for (const int step_ms : {1, 500}) {
      const std::chrono::milliseconds step(step_ms);
      // The slab that each of them is in is neither streamed nor to be evicted.
      const std::uint64_t half = (slabs / 2 - 1) * memory::Arena::kSlabBytes;
      EXPECT_EQ(gets_of_those_behind(slabs, {half}, step), 0U) << slabs << " " << step_ms;
      EXPECT_EQ(gets_of_those_behind(slabs, {kMiB, half / 2, half}, step), 0U)
          << slabs << " " << step_ms;
      EXPECT_GT(gets_of_those_behind(slabs, {half + 2 * memory::Arena::kSlabBytes}, step), 0U)
          << "the control";
    }
  }
}

TEST_F(BlockCacheTest, DoesNotTakeOnePassInSmallStepsOrByManyReadersForASecondUse) {
  start(/*slabs=*/4);
  const auto passing = put_and_open("passing", pattern(8 * kMiB));
  for (std::uint64_t at = 0; at < 8 * kMiB; at += 16 * kKiB) {
    for (int process = 0; process < 2; ++process) {
      EXPECT_TRUE(arrives_now(*passing, at, 16 * kKiB));
    }
    clock_.advance(std::chrono::milliseconds(1));
  }
  stream_by();
  EXPECT_GT(gets_of_reading(*passing, kMiB), 0U);
}

}  // namespace
}  // namespace s3rdmafs::cache
