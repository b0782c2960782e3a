// SPDX-License-Identifier: Apache-2.0
#include "disk/write_ring.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::disk {
namespace {

constexpr std::size_t kBlock = kDiskBlockBytes;

class WriteRingTest : public testing::Test {
 protected:
  bool push(std::uint32_t number, std::size_t length) {
    const std::vector<std::byte> bytes(length, std::byte(number));
    return ring_->push({.object = {}, .number = number},
                       {.begin = 0, .end = static_cast<std::uint32_t>(length)}, bytes);
  }
  // The number of the oldest item, whose bytes must be its own; 0 where there is none.
  std::uint32_t take() {
    const auto item = ring_->front(clock_.now());
    if (!item) return 0;
    const std::size_t length = item->range.length();
    for (std::size_t i = 0; i < item->buffer.size(); ++i) {
      const std::byte wanted = i < length ? std::byte(item->chunk.number) : std::byte{0};
      EXPECT_EQ(item->buffer[i], wanted) << "item " << item->chunk.number << " byte " << i;
      if (item->buffer[i] != wanted) break;
    }
    EXPECT_EQ(item->buffer.size() % kBlock, 0U);
    const std::uint32_t number = item->chunk.number;
    ring_->pop();
    return number;
  }

  fakes::FakeClock clock_;
  std::unique_ptr<WriteRing> ring_ = *WriteRing::create(4 * kBlock, clock_);
};

TEST_F(WriteRingTest, GivesOutInOrder) {
  EXPECT_TRUE(push(1, 10));
  EXPECT_TRUE(push(2, kBlock));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(take(), 0U);
}

TEST_F(WriteRingTest, TakesNoMoreThanItHasRoomForAndGoesOnWhenThereIsSome) {
  EXPECT_TRUE(push(1, 3 * kBlock));
  EXPECT_FALSE(push(2, kBlock + 1));
  EXPECT_TRUE(push(3, kBlock));
  EXPECT_FALSE(push(4, 1));
  EXPECT_EQ(take(), 1U);
  EXPECT_TRUE(push(5, 2 * kBlock)) << "around the end";
  EXPECT_TRUE(push(6, kBlock));
  EXPECT_FALSE(push(7, 1));
  EXPECT_EQ(take(), 3U);
  EXPECT_EQ(take(), 5U);
  EXPECT_EQ(take(), 6U);
  EXPECT_TRUE(push(8, 4 * kBlock));
  EXPECT_EQ(take(), 8U);
}

TEST_F(WriteRingTest, KeepsAllBytesApartOverManyRounds) {
  std::uint32_t pushed = 0;
  std::uint32_t taken = 0;
  for (std::uint32_t i = 1; i < 200; ++i) {
    while (push(pushed + 1, 1 + (i * 2477) % (2 * kBlock))) ++pushed;
    EXPECT_EQ(take(), ++taken);
  }
  while (taken < pushed) EXPECT_EQ(take(), ++taken);
}

TEST_F(WriteRingTest, IsOverAfterFinish) {
  EXPECT_TRUE(push(1, 1));
  EXPECT_FALSE(ring_->wait_until_empty(clock_.now()));
  ring_->finish();
  EXPECT_FALSE(push(2, 1));
  EXPECT_FALSE(ring_->front(clock_.now() + std::chrono::seconds(30)));
  EXPECT_TRUE(ring_->is_finished());
}

}  // namespace
}  // namespace s3rdmafs::disk
