// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "block_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(BlockCacheTest, ReadsWhatTheObjectHoldsAtAnyOffset) {
  start(/*slabs=*/4);
  const std::string bytes = pattern(9 * kMiB + 12'345);
  const auto reader = put_and_open("big", bytes);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, 64 * kKiB - 3, 4 * kMiB - 100, 8 * kMiB - 1, 9 * kMiB}) {
    EXPECT_EQ(read_now(*reader, offset, 100'000), bytes.substr(offset, 100'000)) << offset;
  }
  expect_all_released();
}

TEST_F(BlockCacheTest, AnswersReadsPastTheEndWithNothing) {
  start(1);
  const auto reader = put_and_open("small", "0123456789");
  EXPECT_EQ(read_now(*reader, 8, 100), "89");
  EXPECT_EQ(read_now(*reader, 10, 100), "");
  EXPECT_EQ(read_now(*reader, 5000, 100), "");
  EXPECT_EQ(read_now(*put_and_open("empty", ""), 0, 100), "");
}

TEST_F(BlockCacheTest, FetchesCachedBytesOnlyOnce) {
  start(1);
  const auto reader = put_and_open("k", pattern(100'000));
  std::ignore = read_now(*reader, 0, 1000);
  EXPECT_EQ(gets(), 1U);
  std::ignore = read_now(*reader, 50'000, 1000);
  EXPECT_EQ(gets(), 1U);
}

TEST_F(BlockCacheTest, FetchesNoMoreThan64KiBForASmallReadInALargeObject) {
  start(1);
  const auto reader = put_and_open("k", pattern(5 * kMiB));
  std::ignore = read_now(*reader, 1 * kMiB + 5000, 4 * kKiB);
  ASSERT_EQ(store_.calls().size(), 1U);
  EXPECT_EQ(store_.calls()[0].offset_bytes, 1 * kMiB);
  EXPECT_EQ(store_.calls()[0].window.length, 64 * kKiB);
}

TEST_F(BlockCacheTest, FillsABlockOnceHoweverManyReadersWait) {
  start(1);
  const std::string bytes = pattern(100'000);
  const auto reader = put_and_open("k", bytes);
  store_.hold();
  std::array<Outcome, 5> outcomes;
  for (Outcome& outcome : outcomes) read(*reader, 10, 20, outcome);
  EXPECT_EQ(store_.held().size(), 1U);
  EXPECT_EQ(gauge("cache_reads_waiting"), 5);
  store_.release_all();
  for (Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome && *outcome);
    EXPECT_EQ(text_of(**outcome), bytes.substr(10, 20));
    outcome.reset();
  }
  expect_all_released();
}

TEST_F(BlockCacheTest, TellsEveryWaitingReaderOfAFailureAndTriesAgainLater) {
  start(1);
  const auto reader = put_and_open("k", pattern(1000));
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(read_now(*reader, 0, 10), "<TimedOut>");
  EXPECT_EQ(read_now(*reader, 0, 10), pattern(1000).substr(0, 10));
  expect_all_released();
}

// As a file's handle is: closed while its read waits, so that only the read holds it.
TEST_F(BlockCacheTest, ReleasesTheReaderWhenItsReadFailsThoughAnotherBlockIsStillOnItsWay) {
  start(/*slabs=*/2);
  auto reader = put_and_open("k", pattern(20 * kMiB));
  const std::weak_ptr<ObjectReader> watched = reader;
  ObjectReader& reading = *reader;
  store_.hold();
  bool failed = false;
  reading.read(9 * kMiB + 64 * kKiB - 100, 200, clock_.now() + seconds(30),
               [&failed, owned = std::move(reader)](const Result<PinnedBytes>& result) {
                 failed = !result.has_value();
               });
  ASSERT_EQ(store_.held().size(), 2U) << "over the border of two blocks";
  ASSERT_FALSE(watched.expired());

  ASSERT_TRUE(store_.fail_held(0, {.error = {ErrorCode::kStale, "replaced"}}));
  EXPECT_TRUE(failed);
  // Were it not gone now, the other block's end would close it under the cache's lock: a deadlock.
  EXPECT_TRUE(watched.expired());
  ASSERT_TRUE(store_.fail_held(0, {.error = {ErrorCode::kStale, "replaced"}}));
  expect_all_released();
}

TEST_F(BlockCacheTest, KeepsVersionsOfOneKeyApart) {
  start(1);
  const auto before = put_and_open("k", std::string(100, 'a'));
  EXPECT_EQ(read_now(*before, 0, 3), "aaa");
  const auto after = put_and_open("k", std::string(100, 'b'));
  EXPECT_EQ(read_now(*after, 0, 3), "bbb");
  EXPECT_EQ(read_now(*before, 0, 3), "aaa")
      << "cached bytes of a version stay those of that version";
}

TEST_F(BlockCacheTest, SaysStaleWhereAReplacedVersionIsNotCached) {
  start(1);
  const auto before = put_and_open("k", std::string(100, 'a'));
  store_.put("k", std::string(100, 'b'));
  EXPECT_EQ(read_now(*before, 0, 3), "<Stale>");
}

// 4 KiB here and there must not each take the memory of a stream's block.
TEST_F(BlockCacheTest, PutsManySmallScatteredReadsIntoOneSlab) {
  constexpr std::uint64_t kStep = 3 * kMiB;  // further apart than a stream's slack
  constexpr std::uint64_t kPlaces = 30;
  const std::string bytes = pattern(kPlaces * kStep);
  // How many GETs the second of two rounds needs.
  const auto gets_again = [&](std::size_t length) {
    start(/*slabs=*/1);
    const auto reader = put_and_open("k", bytes);
    std::size_t before = 0;
    for (int round = 0; round < 2; ++round) {
      before = gets();
      for (std::uint64_t place = 0; place < kPlaces; ++place) {
        const std::uint64_t at = (place * 7 % kPlaces) * kStep + kMiB;
        EXPECT_EQ(read_now(*reader, at, length), bytes.substr(at, length)) << at;
      }
    }
    return gets() - before;
  };
  EXPECT_EQ(gets_again(4 * kKiB), 0U) << "30 of 64 KiB are there";
  EXPECT_EQ(gets_again(128 * kKiB), 0U) << "30 of 128 KiB";
  EXPECT_EQ(gets_again(kMiB), kPlaces) << "control: 30 MiB do not fit";
}

TEST_F(BlockCacheTest, ReadsOverTheBorderOfTwoFragments) {
  start(/*slabs=*/2);
  const std::string bytes = pattern(20 * kMiB);
  const auto reader = put_and_open("k", bytes);
  const std::uint64_t at = 9 * kMiB + 64 * kKiB - 100;
  EXPECT_EQ(read_now(*reader, at, 64 * kKiB), bytes.substr(at, 64 * kKiB));
  EXPECT_EQ(read_now(*reader, at + 50, 100), bytes.substr(at + 50, 100));
  EXPECT_EQ(gets(), 2U) << "a unit each, and once";
}

TEST_F(BlockCacheTest, PutsSmallReadsIntoTheBlockWhereThereIsOne) {
  start(/*slabs=*/1);
  const std::string bytes = pattern(24 * kMiB);
  const auto reader = put_and_open("k", bytes);
  std::ignore = read_now(*reader, 0, 4096);  // a first step
  std::ignore = read_now(*reader, 4096, 4096);
  Outcome held;  // pins the only slab: a fragment would find no memory
  read(*reader, 0, 4096, held);
  ASSERT_TRUE(held && *held);
  EXPECT_EQ(read_now(*reader, 5 * kMiB, 4096), bytes.substr(5 * kMiB, 4096));
  Outcome elsewhere;
  read(*reader, 20 * kMiB, 4096, elsewhere);
  EXPECT_FALSE(elsewhere) << "control: no block, and no memory";
  held.reset();
  ASSERT_TRUE(elsewhere && *elsewhere);
  EXPECT_EQ(text_of(**elsewhere), bytes.substr(20 * kMiB, 4096));
}

TEST_F(BlockCacheTest, EndsReadsThatWaitForMemoryWhenItIsShutDown) {
  start(/*slabs=*/1);
  const auto reader = put_and_open("k", pattern(100));
  const auto other = put_and_open("other", pattern(9 * kMiB));
  Outcome held;
  read(*reader, 0, 100, held);
  ASSERT_TRUE(held && *held);
  Outcome waits;
  read(*other, 0, 100, waits);
  ASSERT_FALSE(waits) << "the only slab is held";
  cache_->shut_down();
  ASSERT_TRUE(waits && !*waits);
  EXPECT_EQ(waits->error().code, ErrorCode::kCancelled);
  EXPECT_EQ(read_now(*other, 0, 100), "<Cancelled>") << "no later event would answer it";
}

TEST_F(BlockCacheTest, NeverTakesMemoryFromAReplyUnderWay) {
  start(/*slabs=*/1);
  const std::string bytes = pattern(64 * kMiB);
  const auto reader = put_and_open("k", bytes);
  Outcome kept;
  read(*reader, 0, 1000, kept);
  ASSERT_TRUE(kept && *kept);

  Outcome waiting;
  read(*reader, 60 * kMiB, 1000, waiting);
  EXPECT_FALSE(waiting) << "all memory is held by a reply";
  EXPECT_EQ(text_of(**kept), bytes.substr(0, 1000));

  kept.reset();  // the reply has left
  ASSERT_TRUE(waiting && *waiting) << "the waiting read gets the memory at once";
  EXPECT_EQ(text_of(**waiting), bytes.substr(60 * kMiB, 1000));
}

TEST_F(BlockCacheTest, EndsReadsThatFindNoMemoryAtTheirDeadline) {
  start(1);
  const auto reader = put_and_open("k", pattern(64 * kMiB));
  Outcome first;
  read(*reader, 0, 1000, first);  // the first step of a stream: all of the slab
  ASSERT_TRUE(first && *first);
  std::atomic<ErrorCode> code{ErrorCode::kSystem};
  reader->read(32 * kMiB, 1000, clock_.now() + seconds(5), [&](Result<PinnedBytes> result) {
    code = result ? ErrorCode::kExists : result.error().code;
  });
  clock_.advance(seconds(6));
  EXPECT_TRUE(fakes::eventually([&] { return code == ErrorCode::kTimedOut; }));
}

TEST_F(BlockCacheTest, ReleasesEverythingWhenTheStoreShutsDown) {
  start(2);
  const auto reader = put_and_open("k", pattern(8 * kMiB));
  store_.hold();
  Outcome outcome;
  read(*reader, 4 * kMiB - 100, 200, outcome);  // over two blocks
  EXPECT_EQ(store_.held().size(), 2U);
  store_.shut_down();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(*outcome);
  expect_all_released();
}

}  // namespace
}  // namespace s3rdmafs::cache
