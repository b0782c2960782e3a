// SPDX-License-Identifier: Apache-2.0
// What the block cache fetches before it is asked for.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "block_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(BlockCacheTest, PrefetchesAWholeObjectOnceForTheNextOpen) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/8 * kMiB);
  const std::string bytes = pattern(1 * kMiB + 5);
  const std::string etag = store_.put("k", bytes);
  for (int i = 0; i < 2; ++i)
    cache_->prefetch({.key = "k", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(gets(), 1U);
  const auto reader = cache_->open({.key = "k", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(read_now(*reader, 100'000, kMiB), bytes.substr(100'000, kMiB));
  EXPECT_EQ(gets(), 1U);
  expect_all_released();
}

TEST_F(BlockCacheTest, PrefetchesTheBeginningOfALargeObject) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/4 * kMiB);
  const std::string bytes = pattern(5 * kMiB);
  const std::string etag = store_.put("l", bytes);
  cache_->prefetch({.key = "l", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(gets(), 1U);
  const auto reader = cache_->open({.key = "l", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(read_now(*reader, 0, 64 * kKiB), bytes.substr(0, 64 * kKiB));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(read_now(*reader, 4 * kMiB, kMiB), bytes.substr(4 * kMiB));
  EXPECT_EQ(gets(), 2U) << "the control: the end was not";
}

// The first window of a far server is longer than this object.
TEST_F(BlockCacheTest, PrefetchesNoFurtherThanTheObjectsEnd) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/16 * kMiB);
  cache_->note_answer(std::chrono::milliseconds(50));
  const auto first = put_and_open("k", pattern(kMiB));
  store_.hold();
  Outcome outcome;
  read(*first, 0, kMiB, outcome);
  clock_.advance(std::chrono::milliseconds(51));
  store_.release_all();
  ASSERT_TRUE(outcome);
  const std::size_t before = gets();
  const std::string bytes = pattern(5 * kMiB);
  const std::string etag = store_.put("l", bytes);
  cache_->prefetch({.key = "l", .etag = etag, .size_bytes = bytes.size()});
  const auto reader = cache_->open({.key = "l", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(read_now(*reader, 4 * kMiB, kMiB), bytes.substr(4 * kMiB));
  EXPECT_EQ(gets(), before + 1);
}

TEST_F(BlockCacheTest, PrefetchesNothingWhereReadAheadIsSwitchedOff) {
  start(/*slabs=*/4);
  cache_->prefetch({.key = "k", .etag = store_.put("k", "bytes"), .size_bytes = 5});
  EXPECT_EQ(gets(), 0U);
}

// A guess that proves wrong costs no reader anything.
TEST_F(BlockCacheTest, ForgetsAPrefetchThatFailed) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/8 * kMiB);
  cache_->prefetch({.key = "gone", .etag = "\"1\"", .size_bytes = 5});
  const auto reader = put_and_open("k", "bytes");
  EXPECT_EQ(read_now(*reader, 0, 5), "bytes");
  expect_all_released();
}

TEST_F(BlockCacheTest, ReadsAheadOfASequentialReader) {
  start(/*slabs=*/8, /*read_ahead_max_bytes=*/8 * kMiB);
  const std::string bytes = pattern(32 * kMiB);
  const auto reader = put_and_open("k", bytes);
  for (std::uint64_t at = 0; at < 32 * kMiB; at += 1 * kMiB) {
    ASSERT_EQ(read_now(*reader, at, kMiB), bytes.substr(at, kMiB));
  }
  EXPECT_GT(metrics_.counter("cache_fill_bytes_total", "", R"(cause="read_ahead")").value(),
            30 * kMiB);
  EXPECT_GT(metrics_.counter("cache_reads_total", "", R"(result="hit")").value(), 30U);
  expect_all_released();
}

// Part and depth follow what GETs cost: here they take no time at all, so parts are slabs.
TEST_F(BlockCacheTest, AsksForASteadyReadersBytesInParts) {
  start(/*slabs=*/12, /*read_ahead_max_bytes=*/64 * kMiB);
  const auto reader = put_and_open("k", std::string(128 * kMiB, 'x'));
  for (std::uint64_t at = 0; at < 128 * kMiB; at += kMiB)
    EXPECT_TRUE(arrives_now(*reader, at, kMiB));
  EXPECT_LE(gets(), 128 / 8 + 10U);
}

TEST_F(BlockCacheTest, AsksForNoMoreThanRandomReadersNeed) {
  start(/*slabs=*/8, /*read_ahead_max_bytes=*/8 * kMiB);
  const auto reader = put_and_open("k", pattern(64 * kMiB));
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    std::ignore = read_now(*reader, random() % (64 * kMiB / 4096) * 4096, 4096);
  }
  EXPECT_EQ(metrics_.counter("cache_fill_bytes_total", "", R"(cause="read_ahead")").value(), 0U);
}

// Format hints, and what they are worth: each is a round trip of an open less.

struct Piece {
  std::uint64_t offset;
  std::size_t length;
};

class FormatHints : public BlockCacheTest {
 protected:
  // The GETs of the second of two reads of a file of 16 MiB.
  std::size_t gets_of_the_second(bool ahead, Piece first, Piece second) {
    start(/*slabs=*/8, /*read_ahead_max_bytes=*/ahead ? 8 * kMiB : 0);
    const auto reader = put_and_open("k", pattern(16 * kMiB));
    store_.forget_calls();
    std::ignore = read_now(*reader, first.offset, first.length);
    const std::size_t before = gets();
    std::ignore = read_now(*reader, second.offset, second.length);
    return gets() - before;
  }
};

// Readers of Parquet take 64 KiB or 8 bytes from the end, then the footer whose length these tell.
TEST_F(FormatHints, BringAFooterWithTheReadOfItsLength) {
  const Piece length{16 * kMiB - 8, 8};
  const Piece footer{16 * kMiB - 500'000, 500'000 - 8};
  EXPECT_EQ(gets_of_the_second(true, length, footer), 0U);
  EXPECT_GT(gets_of_the_second(false, length, footer), 0U) << "the control";
}

// Safetensors begins with 8 bytes that tell the length of the header after them; an HDF5 file with
// its superblock and, as it is written by default, the first objects.
TEST_F(FormatHints, BringAHeaderWithTheReadOfItsLength) {
  const Piece length{0, 8};
  const Piece header{8, 500'000};
  EXPECT_EQ(gets_of_the_second(true, length, header), 0U);
  EXPECT_GT(gets_of_the_second(false, length, header), 0U) << "the control";
}

}  // namespace
}  // namespace s3rdmafs::cache
