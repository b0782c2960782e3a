// SPDX-License-Identifier: Apache-2.0
#include "disk/chunk_index.h"

#include <gtest/gtest.h>

namespace s3rdmafs::disk {
namespace {

constexpr auto kUnit = static_cast<std::uint32_t>(kUnitBytes);
constexpr ChunkId kChunk{.object = {1, 2}, .number = 3};

Extent extent(std::uint32_t begin, std::uint32_t end, std::uint32_t segment,
              std::uint64_t position = 0) {
  return {.range = {.begin = begin, .end = end},
          .segment = segment,
          .first_checksum = 0,
          .position_bytes = position};
}

TEST(ChunkIndex, FindsNothingWhereAByteIsMissing) {
  ChunkIndex index;
  index.add(kChunk, extent(0, kUnit + 5, 1));
  EXPECT_TRUE(index.find(kChunk, {.begin = 0, .end = kUnit + 5})) << "the control";
  EXPECT_FALSE(index.find(kChunk, {.begin = 0, .end = kUnit + 6}));
  EXPECT_FALSE(index.find({.object = {1, 2}, .number = 4}, {.begin = 0, .end = 1}));
  EXPECT_FALSE(index.find({.object = {2, 2}, .number = 3}, {.begin = 0, .end = 1}));
}

TEST(ChunkIndex, PutsARangeTogetherFromSeveralExtentsInOrder) {
  ChunkIndex index;
  index.add(kChunk, extent(2 * kUnit, 3 * kUnit, 1));
  index.add(kChunk, extent(0, 2 * kUnit, 2));
  const auto found = index.find(kChunk, {.begin = 5, .end = 3 * kUnit});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).segment, 2U);
  EXPECT_EQ(found->at(1).segment, 1U);
}

TEST(ChunkIndex, ALongerExtentTakesThePlaceOfThoseItHolds) {
  ChunkIndex index;
  index.add(kChunk, extent(0, kUnit, 1));
  index.add(kChunk, extent(kUnit, 2 * kUnit, 1));
  index.add(kChunk, extent(0, 2 * kUnit, 2));
  EXPECT_EQ(index.size(), 1U);
}

TEST(ChunkIndex, ForgetsASegmentAndNothingElse) {
  ChunkIndex index;
  index.add(kChunk, extent(0, kUnit, 1));
  index.add(kChunk, extent(kUnit, 2 * kUnit, 2));
  index.remove_segment(1, std::vector{kChunk});
  EXPECT_FALSE(index.find(kChunk, {.begin = 0, .end = 1}));
  EXPECT_TRUE(index.find(kChunk, {.begin = kUnit, .end = 2 * kUnit}));
}

// An extent to be dropped may have been replaced meanwhile: the new one must stay.
TEST(ChunkIndex, RemovesExactlyTheExtentThatWasFound) {
  ChunkIndex index;
  const Extent old = extent(0, kUnit, 1, 0);
  index.add(kChunk, old);
  index.add(kChunk, extent(0, kUnit, 1, kUnit));
  index.remove(kChunk, old);
  EXPECT_EQ(index.size(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::disk
