// SPDX-License-Identifier: Apache-2.0
#include "cache/readahead/read_ahead.h"

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

using Found = ReadAhead::Found;

constexpr std::uint64_t kObject = 1 * kGiB;
constexpr std::uint64_t kWindowMax = 64 * kMiB;
constexpr Pace kFast{.first_bytes = 1 * kMiB, .part_bytes = 8 * kMiB, .window_bytes = 16 * kMiB};

class ReadAheadTest : public testing::Test {
 protected:
  ByteRanges read(std::uint64_t offset, std::uint64_t length, Found found = Found::kMissing) {
    return policy_.on_read({.range = {.begin = offset, .end = offset + length},
                            .found = found,
                            .now = ReadAhead::Time(std::chrono::hours(1)) + since_},
                           limits_);
  }

  // Reads [from, to) in steps and returns what was asked for on the way.
  std::vector<ByteRange> read_through(std::uint64_t from, std::uint64_t to, std::uint64_t step,
                                      Found found = Found::kAll) {
    std::vector<ByteRange> asked;
    for (std::uint64_t at = from; at < to; at += step) {
      for (const ByteRange range : read(at, step, found)) asked.push_back(range);
    }
    return asked;
  }

  static std::uint64_t sum(const std::vector<ByteRange>& ranges) {
    std::uint64_t bytes = 0;
    for (const ByteRange range : ranges) bytes += range.size();
    return bytes;
  }

  ReadAhead policy_{kObject};
  ReadAhead::Limits limits_{
      .window_max_bytes = kWindowMax, .budget_bytes = 256 * kMiB, .pace = kFast};
  std::chrono::nanoseconds since_{0};
};

// How a reader is recognised.

TEST_F(ReadAheadTest, StartsAtOnceAtTheBeginningOfAnObject) {
  const ByteRanges asked = read(0, 128 * kKiB);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(*asked.begin(), (ByteRange{128 * kKiB, kMiB}));
}

TEST_F(ReadAheadTest, FetchesNothingForASingleReadElsewhere) {
  EXPECT_TRUE(read(100 * kMiB, 4 * kKiB).empty());
  EXPECT_TRUE(read(300 * kMiB, 1 * kMiB).empty());
}

TEST_F(ReadAheadTest, StartsWithTheSecondReadOfASequence) {
  std::ignore = read(100 * kMiB, 64 * kKiB);
  EXPECT_FALSE(read(100 * kMiB + 64 * kKiB, 64 * kKiB).empty());
}

TEST_F(ReadAheadTest, WaitsForAThirdReadWhereTheyAreSmall) {
  std::ignore = read(100 * kMiB, 4 * kKiB);
  EXPECT_TRUE(read(100 * kMiB + 4 * kKiB, 4 * kKiB).empty());
  EXPECT_FALSE(read(100 * kMiB + 8 * kKiB, 4 * kKiB).empty());
}

TEST_F(ReadAheadTest, TakesASecondReadSomewhereNearForARandomOne) {
  for (const std::uint64_t at : {0, 900, 300, 600, 100}) {
    EXPECT_TRUE(read(100 * kMiB + at * kKiB, 4 * kKiB).empty()) << at;
  }
}

TEST_F(ReadAheadTest, FollowsPiecesOfOneReadThatComeOutOfOrder) {
  std::uint64_t asked_to = 0;
  for (const std::uint64_t piece : {0, 2, 1, 4, 3, 5}) {
    for (const ByteRange range : read(100 * kMiB + piece * 256 * kKiB, 256 * kKiB, Found::kAll)) {
      EXPECT_GE(range.begin, asked_to);
      asked_to = range.end;
    }
  }
  EXPECT_GT(asked_to, 102 * kMiB);
}

TEST_F(ReadAheadTest, StaysSilentWhereItIsSwitchedOff) {
  limits_.window_max_bytes = 0;
  EXPECT_TRUE(read_through(0, 10 * kMiB, kMiB).empty());
  EXPECT_TRUE(read(kObject - 8, 8).empty());
  EXPECT_TRUE(policy_.expects({.begin = 10 * kMiB, .end = 11 * kMiB})) << "streams are known still";
}

// How far ahead it goes.

TEST_F(ReadAheadTest, DoublesItsWindowUpToTheLimitWhileTheReaderStalls) {
  const auto asked = read_through(0, 200 * kMiB, kMiB, Found::kOnTheirWay);
  EXPECT_GT(sum(asked), 200 * kMiB + kWindowMax / 2);
  EXPECT_LE(sum(asked), 200 * kMiB + kWindowMax);
}

TEST_F(ReadAheadTest, HasThePacesWindowAfterOneStallWhereTheServerIsFar) {
  for (const bool is_far : {true, false}) {
    policy_ = ReadAhead(kObject);
    limits_.pace = {.first_bytes = kMiB, .part_bytes = kMiB, .window_bytes = 40 * kMiB};
    limits_.pace.is_far = is_far;
    std::ignore = read(0, kMiB);
    const ByteRanges asked = read(kMiB, kMiB, Found::kOnTheirWay);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked.begin()->end, is_far ? 42 * kMiB : 4 * kMiB) << "the control: near it doubles";
  }
}

TEST_F(ReadAheadTest, BeginsWithHalfOfThePacesWindowAtALargeReadWhereTheServerIsFar) {
  const auto window_of = [this](std::uint64_t length, bool is_far) {
    policy_ = ReadAhead(kObject);
    limits_.pace = {.first_bytes = kMiB, .part_bytes = kMiB, .window_bytes = 40 * kMiB};
    limits_.pace.is_far = is_far;
    return read(0, length).begin()->end - length;
  };
  EXPECT_EQ(window_of(kMiB, true), 20 * kMiB);
  EXPECT_LE(window_of(128 * kKiB, true), kMiB) << "the control: as headers are read";
  EXPECT_LE(window_of(kMiB, false), kMiB) << "the control: near it costs little to wait";
}

TEST_F(ReadAheadTest, GetsNoFurtherAheadThanIsOfUse) {
  limits_.window_max_bytes = 256 * kMiB;
  for (const std::uint64_t useful : {64 * kMiB, 128 * kMiB}) {
    policy_ = ReadAhead(kObject);
    limits_.pace.useful_bytes = useful;
    const auto asked = read_through(0, 200 * kMiB, kMiB, Found::kOnTheirWay);
    EXPECT_GT(sum(asked), 200 * kMiB + useful / 2);
    EXPECT_LE(sum(asked), 200 * kMiB + useful);
  }
}

TEST_F(ReadAheadTest, GetsNoFurtherThanThePaceAsksForWhileTheReaderFindsEverything) {
  const auto asked = read_through(0, 200 * kMiB, kMiB, Found::kAll);
  EXPECT_LE(sum(asked), 200 * kMiB + kFast.window_bytes);
}

TEST_F(ReadAheadTest, GetsNoFurtherAheadThanTheReaderHasCome) {
  for (std::uint64_t at = 100 * kMiB; at < 108 * kMiB; at += 256 * kKiB) {
    for (const ByteRange range : read(at, 256 * kKiB, Found::kAll)) {
      EXPECT_LE(range.end - at, at + 256 * kKiB - 100 * kMiB + kFast.first_bytes);
    }
  }
}

TEST_F(ReadAheadTest, AsksForWholePartsOfASteadyReader) {
  std::ignore = read_through(0, 64 * kMiB, 128 * kKiB);
  const auto asked = read_through(64 * kMiB, 320 * kMiB, 128 * kKiB);
  EXPECT_EQ(asked.size(), 256 / 8U);
  for (const ByteRange range : asked) {
    EXPECT_EQ(range.begin % (8 * kMiB), 0U);
    EXPECT_EQ(range.size(), 8 * kMiB);
  }
}

TEST_F(ReadAheadTest, AsksForThePartsThatThePaceNames) {
  limits_.pace = {.first_bytes = kMiB, .part_bytes = 2 * kMiB, .window_bytes = 4 * kMiB};
  std::ignore = read_through(0, 64 * kMiB, 128 * kKiB);
  for (const ByteRange range : read_through(64 * kMiB, 128 * kMiB, 128 * kKiB)) {
    EXPECT_EQ(range.size(), 2 * kMiB);
  }
}

TEST_F(ReadAheadTest, StartsAgainAfterAPause) {
  std::ignore = read_through(0, 64 * kMiB, kMiB);
  since_ += ReadAhead::kIdleAfter;
  const ByteRanges asked = read(64 * kMiB, kMiB);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_LE(asked.begin()->end, 65 * kMiB + kFast.first_bytes);
}

TEST_F(ReadAheadTest, GoesOnAsBeforeAfterAShorterPause) {
  std::ignore = read_through(0, 64 * kMiB, kMiB);
  since_ += ReadAhead::kIdleAfter / 2;
  EXPECT_GE(sum(read_through(64 * kMiB, 80 * kMiB, kMiB)), 16 * kMiB);
}

TEST_F(ReadAheadTest, AsksAgainForLostBytes) {
  std::ignore = read_through(0, 64 * kMiB, kMiB);
  const ByteRanges asked = read(64 * kMiB, kMiB, Found::kMissing);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked.begin()->begin, 65 * kMiB);
}

TEST_F(ReadAheadTest, StopsAtTheEndOfTheObject) {
  EXPECT_EQ(sum(read_through(kObject - 40 * kMiB, kObject, kMiB)), 38 * kMiB);
}

// Several readers.

TEST_F(ReadAheadTest, TellsInterleavedReadersApart) {
  for (std::uint64_t step = 0; step < 4; ++step) {
    std::ignore = read(100 * kMiB + step * 64 * kKiB, 64 * kKiB);
    std::ignore = read(500 * kMiB + step * 64 * kKiB, 64 * kKiB);
  }
  // Each goes on where its own sequence stopped, and outruns what was fetched for it.
  for (const std::uint64_t own : {100 * kMiB, 500 * kMiB}) {
    const ByteRanges asked = read(own + 256 * kKiB, 8 * kMiB);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_GT(asked.begin()->begin, own + 8 * kMiB);
    EXPECT_LT(asked.begin()->end, own + 100 * kMiB);
  }
}

TEST_F(ReadAheadTest, SharesItsBudgetButLeavesEachStreamARoundTrip) {
  limits_.budget_bytes = 32 * kMiB;
  for (std::uint64_t reader = 0; reader < 16; ++reader) {
    const std::uint64_t from = reader * 64 * kMiB + 64 * kKiB;
    std::ignore = read_through(from, from + 16 * kMiB, kMiB, Found::kOnTheirWay);
  }
  // The last one, as all had what they have: its next reads still find something.
  EXPECT_FALSE(read_through(992 * kMiB + 64 * kKiB, 996 * kMiB, kMiB, Found::kOnTheirWay).empty());
}

// Seeks.

TEST_F(ReadAheadTest, KeepsItsWindowOverSmallSeeks) {
  std::ignore = read_through(0, 64 * kMiB, kMiB);
  std::ignore = read(63 * kMiB + 500 * kKiB, 100 * kKiB, Found::kAll);
  std::ignore = read(64 * kMiB + 700 * kKiB, 100 * kKiB, Found::kAll);
  const auto asked = read_through(65 * kMiB, 97 * kMiB, kMiB);
  for (const ByteRange range : asked) EXPECT_EQ(range.size(), 8 * kMiB);
}

TEST_F(ReadAheadTest, FetchesSlicesAndNotWhatLiesBetween) {
  std::uint64_t asked_inside = 0;
  for (std::uint64_t slice = 1; slice < 20; ++slice) {
    for (std::uint64_t at = 0; at < 4 * kMiB; at += kMiB) {
      const Found found = at == 0 ? Found::kMissing : Found::kOnTheirWay;
      for (const ByteRange range : read(slice * 32 * kMiB + at, kMiB, found)) {
        if (slice < 5) continue;  // not yet recognised
        EXPECT_LT(range.begin % (32 * kMiB), 4 * kMiB);
        EXPECT_LE((range.end - 1) % (32 * kMiB), 4 * kMiB);
        asked_inside += range.size();
      }
    }
  }
  EXPECT_GT(asked_inside, 40 * kMiB);
}

TEST_F(ReadAheadTest, HelpsAReaderWhoseSliceDidNotStay) {
  for (std::uint64_t slice = 1; slice < 8; ++slice) {
    for (std::uint64_t at = 0; at < 4 * kMiB; at += kMiB) {
      std::ignore = read(slice * 32 * kMiB + at, kMiB, slice < 5 ? Found::kMissing : Found::kAll);
    }
  }
  EXPECT_TRUE(read(256 * kMiB, kMiB, Found::kAll).size() <= 1);  // of a slice further on
  std::ignore = read(257 * kMiB, kMiB, Found::kMissing);
  EXPECT_FALSE(read(258 * kMiB, kMiB, Found::kMissing).empty());
}

TEST_F(ReadAheadTest, FetchesBeforeAFileThatIsReadBackwards) {
  std::uint64_t asked_before = 0;
  for (std::uint64_t at = 900 * kMiB; at > 800 * kMiB; at -= kMiB) {
    for (const ByteRange range : read(at, kMiB)) {
      EXPECT_LE(range.begin, at);
      asked_before += range.size();
    }
  }
  EXPECT_GT(asked_before, 90 * kMiB);
}

TEST_F(ReadAheadTest, FetchesTheWholeTailOnceWithItsFirstRead) {
  const ByteRanges asked = read(kObject - 8, 8);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(*asked.begin(), (ByteRange{kObject - ReadAhead::kTailBytes, kObject}));
  EXPECT_TRUE(read(kObject - 100'000, 1000).empty());
  EXPECT_TRUE(read(kObject - 8, 8).empty());
}

}  // namespace
}  // namespace s3rdmafs::cache
