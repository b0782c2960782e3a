// SPDX-License-Identifier: Apache-2.0
// What the block cache does with memory that a server may still write to.
#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "block_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

// The rule of s3rdmafs-protocol(7). The test plays the late write: it writes into the window
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

TEST_F(LateWrite, WithholdsTheSlabUntilItsRegionIsFenced) {
  start(/*slabs=*/2);
  fabric_.let_fences_fail(true);
  const auto reader = put_and_open("k", pattern(1000));
  std::ignore = read_with_lost_answer(*reader, pattern(1000).substr(0, 100));
  EXPECT_EQ(gauge("cache_slabs", R"(state="quarantined")"), 1);
  EXPECT_EQ(gauge("cache_slabs", R"(state="free")"), 0);

  fabric_.let_fences_fail(false);
  clock_.advance(WorkerThread::kTick);
  EXPECT_TRUE(
      fakes::eventually([&] { return gauge("cache_slabs", R"(state="quarantined")") == 0; }));
  EXPECT_EQ(fabric_.fences(), 1);
  EXPECT_EQ(gauge("cache_slabs", R"(state="free")"), 1);
  expect_all_released();
}

TEST_F(LateWrite, FailsTheReadWhenItHappensAgainAndAgain) {
  start(/*slabs=*/8);
  const auto reader = put_and_open("k", pattern(1000));
  store_.fail_next(FakeObjectStore::Operation::kGet, 100, ErrorCode::kTimedOut, true);
  EXPECT_EQ(read_now(*reader, 0, 100), "<TimedOut>");
  EXPECT_EQ(gets(), 3U) << "one read, two restarts";
  expect_all_released();
}

TEST_F(BlockCacheTest, DoesNotRestartACancelledReadAlthoughALateWriteIsPossible) {
  start(/*slabs=*/4);
  const auto reader = put_and_open("k", pattern(100));
  store_.fail_if([](const FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != FakeObjectStore::Operation::kGet) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kCancelled, "shut down"},
                          .late_write_possible = true};
  });
  EXPECT_EQ(read_now(*reader, 0, 100), "<Cancelled>");
  EXPECT_EQ(gets(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::cache
