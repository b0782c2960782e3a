// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/block_cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::cache {
namespace {

using fakes::FakeObjectStore;
using std::chrono::seconds;

// Every 8 bytes of an object tell their own offset, so that bytes from a wrong place show.
std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t word = at * 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: no repeats
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

std::string text_of(const PinnedBytes& bytes) {
  std::string text;
  for (const auto piece : bytes.pieces()) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

class BlockCacheTest : public testing::Test {
 protected:
  using Outcome = std::optional<Result<PinnedBytes>>;

  // `slabs` of 8 MiB; read-ahead is off unless a test asks for it.
  void start(std::size_t slabs, std::uint64_t read_ahead_max_bytes = 0) {
    cache_.reset();
    arena_ =
        memory::Arena::create(slabs * memory::Arena::kSlabBytes, memory::Arena::Lock::kOff, fabric_)
            .value();
    cache_ = std::make_unique<BlockCache>(
        *arena_, store_, clock_, metrics_,
        BlockCache::Options{.read_ahead_max_bytes = read_ahead_max_bytes,
                            .fill_deadline = seconds(30)});
  }

  void TearDown() override {
    store_.release_all();
    store_.shut_down();
  }

  std::shared_ptr<ObjectReader> put_and_open(const std::string& key, const std::string& bytes) {
    const std::string etag = store_.put(key, bytes);
    return cache_->open({.key = key, .etag = etag, .size_bytes = bytes.size()});
  }

  // Starts a read; the outcome is there once the store has answered.
  void read(ObjectReader& reader, std::uint64_t offset, std::size_t length, Outcome& outcome) {
    reader.read(offset, length, clock_.now() + seconds(30),
                [&outcome](Result<PinnedBytes> result) { outcome = std::move(result); });
  }

  std::string read_now(ObjectReader& reader, std::uint64_t offset, std::size_t length) {
    Outcome outcome;
    read(reader, offset, length, outcome);
    if (!outcome) return "<no answer>";
    if (!*outcome) return "<" + std::string(error_code_name(outcome->error().code)) + ">";
    return text_of(**outcome);
  }

  std::size_t gets() const { return store_.count(FakeObjectStore::Operation::kGet); }
  std::size_t gets_of_reading(ObjectReader& reader, std::uint64_t size) {
    const std::size_t before = gets();
    for (std::uint64_t at = 0; at < size; at += kMiB) std::ignore = read_now(reader, at, kMiB);
    return gets() - before;
  }
  // Twelve slabs of objects that the cache could hold, one after the other.
  void stream_by() {
    for (int i = 0; i < 12; ++i) {
      const auto shard = put_and_open("shard" + std::to_string(i), pattern(8 * kMiB));
      EXPECT_EQ(gets_of_reading(*shard, 8 * kMiB), 8U);
    }
  }

  std::int64_t gauge(std::string_view name, std::string_view labels = {}) {
    return metrics_.gauge(name, "", labels).value();
  }

  // Renewals happen on a thread of the cache's own; it is given plenty of time.
  bool eventually(const std::function<bool()>& condition) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  void expect_all_let_go() {
    EXPECT_EQ(gauge("cache_pins"), 0);
    EXPECT_EQ(gauge("cache_fills_in_flight"), 0);
    EXPECT_EQ(gauge("cache_reads_waiting"), 0);
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeFabric fabric_;
  FakeObjectStore store_{clock_};
  std::unique_ptr<memory::Arena> arena_;
  std::unique_ptr<BlockCache> cache_;
};

TEST_F(BlockCacheTest, ReadsWhatTheObjectHoldsAtAnyOffset) {
  start(/*slabs=*/4);
  const std::string bytes = pattern(9 * kMiB + 12'345);
  const auto reader = put_and_open("big", bytes);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, 64 * kKiB - 3, 4 * kMiB - 100, 8 * kMiB - 1, 9 * kMiB}) {
    EXPECT_EQ(read_now(*reader, offset, 100'000), bytes.substr(offset, 100'000)) << offset;
  }
  expect_all_let_go();
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
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 1U);
  std::ignore = read_now(*reader, 50'000, 1000);
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 1U);
}

TEST_F(BlockCacheTest, FetchesNoMoreThan64KiBForASmallReadInALargeObject) {
  start(1);
  const auto reader = put_and_open("k", pattern(5 * kMiB));
  std::ignore = read_now(*reader, 1 * kMiB + 5000, 4 * kKiB);
  ASSERT_EQ(store_.calls().size(), 1U);
  EXPECT_EQ(store_.calls()[0].offset_bytes, 1 * kMiB);
  EXPECT_EQ(store_.calls()[0].window.length, 64 * kKiB);
}

TEST_F(BlockCacheTest, FillsOnceHoweverManyReadersWait) {
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
  expect_all_let_go();
}

TEST_F(BlockCacheTest, TellsEveryWaitingReaderOfAFailureAndTriesAfreshLater) {
  start(1);
  const auto reader = put_and_open("k", pattern(1000));
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(read_now(*reader, 0, 10), "<TimedOut>");
  EXPECT_EQ(read_now(*reader, 0, 10), pattern(1000).substr(0, 10));
  expect_all_let_go();
}

// As a file's handle is: closed while its read waits, and kept by nothing but that read.
TEST_F(BlockCacheTest, LetsGoOfTheReaderWhenItsReadFailsThoughAnotherBlockIsStillOnItsWay) {
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
  expect_all_let_go();
}

TEST_F(BlockCacheTest, KeepsVersionsOfOneKeyApart) {
  start(1);
  const auto before = put_and_open("k", std::string(100, 'a'));
  EXPECT_EQ(read_now(*before, 0, 3), "aaa");
  const auto after = put_and_open("k", std::string(100, 'b'));
  EXPECT_EQ(read_now(*after, 0, 3), "bbb");
  EXPECT_EQ(read_now(*before, 0, 3), "aaa") << "what is cached of a version stays that version";
}

TEST_F(BlockCacheTest, SaysStaleWhereAReplacedVersionIsNotCached) {
  start(1);
  const auto before = put_and_open("k", std::string(100, 'a'));
  store_.put("k", std::string(100, 'b'));
  EXPECT_EQ(read_now(*before, 0, 3), "<Stale>");
}

TEST_F(BlockCacheTest, EvictsTheLeastRecentlyReadWhenFull) {
  start(/*slabs=*/2);  // 16 blocks of a MiB
  constexpr std::size_t kLength = kMiB;
  const std::string bytes = pattern(32 * kMiB);
  const auto reader = put_and_open("k", bytes);
  for (std::uint64_t at = 0; at < 32 * kMiB; at += 1 * kMiB) {
    ASSERT_EQ(read_now(*reader, at, kLength), bytes.substr(at, kLength)) << at;
  }
  const std::size_t fetched = store_.count(FakeObjectStore::Operation::kGet);
  std::ignore = read_now(*reader, 31 * kMiB, kLength);
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), fetched) << "the newest is still there";
  std::ignore = read_now(*reader, 0, kLength);
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), fetched + 1) << "the oldest is not";
}

// 4 KiB here and there must not each take the memory of a stream's block.
TEST_F(BlockCacheTest, KeepsManySmallReadsHereAndThereInOneSlab) {
  constexpr std::uint64_t kStep = 3 * kMiB;  // further apart than a stream's slack
  constexpr std::uint64_t kPlaces = 30;
  const std::string bytes = pattern(kPlaces * kStep);
  // How many GETs the second of two rounds needs.
  const auto gets_again = [&](std::size_t length) {
    start(/*slabs=*/1);
    const auto reader = put_and_open("k", bytes);
    std::size_t before = 0;
    for (int round = 0; round < 2; ++round) {
      before = store_.count(FakeObjectStore::Operation::kGet);
      for (std::uint64_t place = 0; place < kPlaces; ++place) {
        const std::uint64_t at = (place * 7 % kPlaces) * kStep + kMiB;
        EXPECT_EQ(read_now(*reader, at, length), bytes.substr(at, length)) << at;
      }
    }
    return store_.count(FakeObjectStore::Operation::kGet) - before;
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
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 2U) << "a unit each, and once";
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
  EXPECT_EQ(read_now(*other, 0, 100), "<Cancelled>") << "nobody would answer later";
}

TEST_F(BlockCacheTest, DoesNotStartOverWhatWasCancelledAlthoughItMayBeWrittenLate) {
  start(/*slabs=*/4);
  const auto reader = put_and_open("k", pattern(100));
  store_.fail_if([](const FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != FakeObjectStore::Operation::kGet) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kCancelled, "shut down"},
                          .late_write_possible = true};
  });
  EXPECT_EQ(read_now(*reader, 0, 100), "<Cancelled>");
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 1U);
}

// A training set that is read every epoch, and a checkpoint in shards that passes by once.
TEST_F(BlockCacheTest, KeepsWhatIsReadEveryEpochWhileMoreThanTheCacheHoldsStreamsBy) {
  start(/*slabs=*/4);
  const auto epoch = put_and_open("set", pattern(8 * kMiB));
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
  const auto other = put_and_open("other", pattern(8 * kMiB));
  const auto large = put_and_open("large", pattern(96 * kMiB));
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 8U);
  EXPECT_EQ(gets_of_reading(*large, 96 * kMiB), 96U);
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 0U) << "although it was read once only, before";
  EXPECT_EQ(gets_of_reading(*large, 8 * kMiB), 0U) << "and its own beginning is there";
  // The control: objects that the cache could hold.
  for (int i = 0; i < 2; ++i) stream_by();
  EXPECT_EQ(gets_of_reading(*other, 8 * kMiB), 8U);
}

TEST_F(BlockCacheTest, OfAnObjectLargerThanTheCacheReadersFindWhatIsHalfACacheBehind) {
  const std::string bytes(96 * kMiB, 'x');
  const ObjectVersion version{
      .key = "large", .etag = store_.put("large", bytes), .size_bytes = bytes.size()};
  const auto gets_of_those_behind = [&](std::size_t slabs, std::vector<std::uint64_t> behind,
                                        std::chrono::milliseconds step) {
    start(slabs);
    std::size_t more = 0;
    const auto large = cache_->open(version);
    for (std::uint64_t at = 0; at < version.size_bytes; at += kMiB) {
      std::ignore = read_now(*large, at, kMiB);
      const std::size_t before = gets();
      for (const std::uint64_t distance : behind) {
        if (at >= distance) std::ignore = read_now(*large, at - distance, kMiB);
      }
      more += gets() - before;
      clock_.advance(step);
    }
    return more;
  };
  for (const std::size_t slabs : {8, 9, 10}) {
    for (const int step_ms : {1, 500}) {
      const std::chrono::milliseconds step(step_ms);
      // The slab that each of them is in is neither passed nor to be evicted.
      const std::uint64_t half = (slabs / 2 - 1) * memory::Arena::kSlabBytes;
      EXPECT_EQ(gets_of_those_behind(slabs, {half}, step), 0U) << slabs << " " << step_ms;
      EXPECT_EQ(gets_of_those_behind(slabs, {kMiB, half / 2, half}, step), 0U)
          << slabs << " " << step_ms;
      EXPECT_GT(gets_of_those_behind(slabs, {half + 2 * memory::Arena::kSlabBytes}, step), 0U)
          << "the control";
    }
  }
}

TEST_F(BlockCacheTest, DoesNotTakeOnePassInSmallStepsOrByManyAtOnceForUseAgain) {
  start(/*slabs=*/4);
  const auto passing = put_and_open("passing", pattern(8 * kMiB));
  for (std::uint64_t at = 0; at < 8 * kMiB; at += 16 * kKiB) {
    for (int process = 0; process < 2; ++process) std::ignore = read_now(*passing, at, 16 * kKiB);
    clock_.advance(std::chrono::milliseconds(1));
  }
  stream_by();
  EXPECT_GT(gets_of_reading(*passing, kMiB), 0U);
}

TEST_F(BlockCacheTest, PrefetchesAWholeObjectOnceForWhoeverOpensItNext) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/8 * kMiB);
  const std::string bytes = pattern(1 * kMiB + 5);
  const std::string etag = store_.put("k", bytes);
  for (int i = 0; i < 2; ++i)
    cache_->prefetch({.key = "k", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 1U);
  const auto reader = cache_->open({.key = "k", .etag = etag, .size_bytes = bytes.size()});
  EXPECT_EQ(read_now(*reader, 100'000, kMiB), bytes.substr(100'000, kMiB));
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 1U);
  expect_all_let_go();
}

TEST_F(BlockCacheTest, PrefetchesNothingThatIsTooLargeOrSwitchedOff) {
  start(/*slabs=*/4);
  cache_->prefetch({.key = "k", .etag = store_.put("k", "bytes"), .size_bytes = 5});
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/4 * kMiB);
  cache_->prefetch(
      {.key = "l", .etag = store_.put("l", pattern(5 * kMiB)), .size_bytes = 5 * kMiB});
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 0U);
}

// A guess that proves wrong costs nobody anything.
TEST_F(BlockCacheTest, ForgetsAPrefetchThatFailed) {
  start(/*slabs=*/4, /*read_ahead_max_bytes=*/8 * kMiB);
  cache_->prefetch({.key = "gone", .etag = "\"1\"", .size_bytes = 5});
  const auto reader = put_and_open("k", "bytes");
  EXPECT_EQ(read_now(*reader, 0, 5), "bytes");
  expect_all_let_go();
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
  EXPECT_TRUE(eventually([&] { return code == ErrorCode::kTimedOut; }));
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
  expect_all_let_go();
}

// Part and depth follow what GETs cost: here they take no time at all, so parts are slabs.
TEST_F(BlockCacheTest, AsksForASteadyReadersBytesInParts) {
  start(/*slabs=*/12, /*read_ahead_max_bytes=*/64 * kMiB);
  const auto reader = put_and_open("k", pattern(128 * kMiB));
  for (std::uint64_t at = 0; at < 128 * kMiB; at += kMiB) std::ignore = read_now(*reader, at, kMiB);
  EXPECT_LE(store_.count(FakeObjectStore::Operation::kGet), 128 / 8 + 10U);
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

// Readers of Parquet take 64 KiB or 8 bytes from the end, then the footer whose length these tell.
TEST_F(BlockCacheTest, BringsAFooterWithTheReadOfItsLength) {
  const std::string bytes = pattern(16 * kMiB);
  for (const bool ahead : {true, false}) {
    start(/*slabs=*/8, /*read_ahead_max_bytes=*/ahead ? 8 * kMiB : 0);
    const auto reader = put_and_open("k", bytes);
    store_.forget_calls();
    std::ignore = read_now(*reader, 16 * kMiB - 8, 8);
    const std::size_t before = store_.count(FakeObjectStore::Operation::kGet);
    std::ignore = read_now(*reader, 16 * kMiB - 500'000, 500'000 - 8);
    const std::size_t more = store_.count(FakeObjectStore::Operation::kGet) - before;
    EXPECT_EQ(more == 0, ahead) << more;
  }
}

// Safetensors begins with 8 bytes that tell the length of the header behind them; an HDF5 file with
// its superblock and, as it is written by default, the first objects.
TEST_F(BlockCacheTest, BringsAHeaderWithTheReadOfItsLength) {
  const std::string bytes = pattern(16 * kMiB);
  for (const bool ahead : {true, false}) {
    start(/*slabs=*/8, /*read_ahead_max_bytes=*/ahead ? 8 * kMiB : 0);
    const auto reader = put_and_open("k", bytes);
    store_.forget_calls();
    std::ignore = read_now(*reader, 0, 8);
    const std::size_t before = store_.count(FakeObjectStore::Operation::kGet);
    std::ignore = read_now(*reader, 8, 500'000);
    EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet) == before, ahead);
  }
}

// The rule of s3rdmafs-protocol(7). The late write is played by the test: it writes into the window
// of a GET that timed out, as a server might.
class LateWrite : public BlockCacheTest {
 protected:
  // Reads once with a GET that fails unanswered; returns that GET's window.
  rdma::Window read_with_lost_answer(ObjectReader& reader, const std::string& expected) {
    store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut,
                     /*late_write_possible=*/true);
    EXPECT_EQ(read_now(reader, 0, 100), expected) << "the read starts over in other memory";
    return store_.calls().at(0).window;
  }
  static void write_late(const rdma::Window& window) {
    std::ranges::fill(window.bytes(), std::byte{0xEE});
  }
};

TEST_F(LateWrite, TouchesNothingThatAReaderSees) {
  start(/*slabs=*/2);
  fabric_.let_fences_fail(true);  // the fence is not up yet: the write may come at any time
  const std::string bytes = pattern(100'000);
  const auto reader = put_and_open("k", bytes);
  const rdma::Window window = read_with_lost_answer(*reader, bytes.substr(0, 100));
  const auto other = put_and_open("other", bytes);
  std::ignore = read_now(*other, 0, 100);

  write_late(window);

  EXPECT_EQ(read_now(*reader, 0, 100'000), bytes);
  EXPECT_EQ(read_now(*other, 0, 100'000), bytes);
}

// The control: the same write does show where the memory is in use, so the test above can fail.
TEST_F(LateWrite, WouldShowInMemoryThatIsInUse) {
  start(2);
  const auto reader = put_and_open("k", pattern(100'000));
  std::ignore = read_now(*reader, 0, 100);
  write_late(store_.calls().at(0).window);
  EXPECT_NE(read_now(*reader, 0, 100'000), pattern(100'000));
}

TEST_F(LateWrite, WithholdsTheSlabUntilItsRegionIsRenewed) {
  start(/*slabs=*/2);
  fabric_.let_fences_fail(true);
  const auto reader = put_and_open("k", pattern(1000));
  std::ignore = read_with_lost_answer(*reader, pattern(1000).substr(0, 100));
  EXPECT_EQ(gauge("cache_slabs", R"(state="quarantined")"), 1);
  EXPECT_EQ(gauge("cache_slabs", R"(state="free")"), 0);

  fabric_.let_fences_fail(false);
  clock_.advance(WorkerThread::kTick);
  EXPECT_TRUE(eventually([&] { return gauge("cache_slabs", R"(state="quarantined")") == 0; }));
  EXPECT_EQ(fabric_.fences(), 1);
  EXPECT_EQ(gauge("cache_slabs", R"(state="free")"), 1);
  expect_all_let_go();
}

TEST_F(LateWrite, FailsTheReadWhenItHappensAgainAndAgain) {
  start(/*slabs=*/8);
  const auto reader = put_and_open("k", pattern(1000));
  store_.fail_next(FakeObjectStore::Operation::kGet, 100, ErrorCode::kTimedOut, true);
  EXPECT_EQ(read_now(*reader, 0, 100), "<TimedOut>");
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 3U) << "one read, two restarts";
  expect_all_let_go();
}

TEST_F(BlockCacheTest, GivesBackEverythingWhenTheStoreShutsDown) {
  start(2);
  const auto reader = put_and_open("k", pattern(8 * kMiB));
  store_.hold();
  Outcome outcome;
  read(*reader, 4 * kMiB - 100, 200, outcome);  // over two blocks
  EXPECT_EQ(store_.held().size(), 2U);
  store_.shut_down();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(*outcome);
  expect_all_let_go();
}

}  // namespace
}  // namespace s3rdmafs::cache
