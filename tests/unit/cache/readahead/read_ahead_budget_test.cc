// SPDX-License-Identifier: Apache-2.0
#include "cache/readahead/read_ahead_budget.h"

#include <chrono>
#include <deque>

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kCacheBytes = 256 * kMiB;
constexpr std::uint64_t kShareWindowMax = 64 * kMiB;

class ReadAheadShare : public testing::Test {
 protected:
  // `count` readers of one large object each read two MiB, which shows that they go on.
  void read_by(std::size_t count, std::uint64_t object_bytes = 1 * kGiB) {
    for (std::size_t i = 0; i < count; ++i) {
      ReadAhead& streams = objects_.emplace_back(object_bytes);
      for (std::uint64_t at = 0; at < std::min(object_bytes, 2 * kMiB); at += 512 * kKiB) {
        std::ignore = streams.on_read({.range = {.begin = at, .end = at + 512 * kKiB}, .now = now_},
                                      budget_.limits(now_, {}));
        budget_.note_read(streams, now_);
      }
    }
  }
  [[nodiscard]] std::uint64_t share() const { return budget_.share(now_, {}); }

  ReadAhead::Time now_{std::chrono::hours(1)};
  ReadAheadBudget budget_{kCacheBytes, kShareWindowMax};
  std::deque<ReadAhead> objects_;
};

TEST_F(ReadAheadShare, IsTheWholeWindowForAStreamThatReadsAlone) {
  EXPECT_EQ(share(), kShareWindowMax) << "before any read";
  read_by(1);
  EXPECT_EQ(share(), kShareWindowMax);
}

TEST_F(ReadAheadShare, IsOnePartOfTheMemoryForEachStreamThatReads) {
  read_by(8);
  EXPECT_EQ(share(), kCacheBytes / 4 / 8);
}

TEST_F(ReadAheadShare, IsTwiceAsLargeWhereTheServerIsFar) {
  read_by(8);
  EXPECT_EQ(budget_.share(now_, {.is_far = true}), kCacheBytes / 2 / 8);
}

TEST_F(ReadAheadShare, IsNeverSmallerThanOneRequest) {
  read_by(100);
  EXPECT_EQ(share(), ReadAheadBudget::kShareMin);
}

TEST_F(ReadAheadShare, GrowsWhenOtherStreamsHaveEnded) {
  read_by(8);
  now_ += ActiveStreams::kPeriod;
  EXPECT_EQ(share(), kCacheBytes / 4 / 8) << "they may only be computing";
  now_ += ActiveStreams::kPeriod;
  EXPECT_EQ(share(), kShareWindowMax);
}

// A program that reads one file after another must not have half a window for each.
TEST_F(ReadAheadShare, IsFreeAtOnceWhenAStreamHasComeToTheEndOfItsObject) {
  for (int file = 0; file < 3; ++file) {
    const std::uint64_t size = 2 * kMiB;
    read_by(1, /*object_bytes=*/size + kMiB);
    EXPECT_EQ(budget_.active_streams(now_), 1U) << "the control: it has a MiB to go";
    now_ += ActiveStreams::kPeriod;  // counted in two periods
    for (const std::uint64_t at : {size - kMiB, size}) {
      std::ignore = objects_.back().on_read({.range = {.begin = at, .end = at + kMiB}, .now = now_},
                                            budget_.limits(now_, {}));
      budget_.note_read(objects_.back(), now_);
    }
    read_by(7);
    EXPECT_EQ(budget_.active_streams(now_), 7U);
    now_ += 2 * ActiveStreams::kPeriod;
  }
}

TEST_F(ReadAheadShare, StaysWhileTheStreamsGoOn) {
  read_by(8);
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(1);
    for (ReadAhead& streams : objects_) {
      std::ignore = streams.on_read({.range = {.begin = kMiB, .end = 2 * kMiB}, .now = now_},
                                    budget_.limits(now_, {}));
      budget_.note_read(streams, now_);
      budget_.note_read(streams, now_);  // counts no stream twice
    }
    EXPECT_EQ(budget_.active_streams(now_), 8U);
  }
}

TEST_F(ReadAheadShare, IsNotTakenByReadersOfSmallFilesOrByThoseThatGoNowhere) {
  read_by(100, /*object_bytes=*/512 * kKiB);
  ReadAhead& random = objects_.emplace_back(1 * kGiB);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t at = i * 7919 % 1000 * kMiB + 4096;
    std::ignore = random.on_read({.range = {.begin = at, .end = at + 4096}, .now = now_},
                                 budget_.limits(now_, {}));
    budget_.note_read(random, now_);
  }
  EXPECT_EQ(share(), kShareWindowMax);
}

}  // namespace
}  // namespace s3rdmafs::cache
