// SPDX-License-Identifier: Apache-2.0
#include "disk/index_record.h"

#include <gtest/gtest.h>

namespace s3rdmafs::disk {
namespace {

IndexRecord record() {
  return {.chunk = {.object = {7, 8}, .number = 9},
          .range = {.begin = kUnitBytes, .end = 3 * kUnitBytes + 5},
          .position_bytes = 4 * kDiskBlockBytes,
          .checksums = {1, 2, 3}};
}

TEST(IndexRecord, ComesBackAsItWas) {
  const auto bytes = encode(record());
  EXPECT_EQ(bytes.size(), encoded_bytes(record().range.length()));
  std::span<const std::byte> rest(bytes);
  const auto decoded = decode_next(rest);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(decoded->chunk, record().chunk);
  EXPECT_EQ(decoded->range.begin, record().range.begin);
  EXPECT_EQ(decoded->range.end, record().range.end);
  EXPECT_EQ(decoded->position_bytes, record().position_bytes);
  EXPECT_EQ(decoded->checksums, record().checksums);
}

TEST(IndexRecord, IsRefusedWithAnyBitFlippedOrAnyByteMissing) {
  const auto bytes = encode(record());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = bytes;
      damaged.at(i) ^= std::byte{1} << bit;
      std::span<const std::byte> rest(damaged);
      EXPECT_FALSE(decode_next(rest)) << "byte " << i << " bit " << bit;
    }
    std::span<const std::byte> cut = std::span(bytes).first(i);
    EXPECT_FALSE(decode_next(cut)) << i << " bytes";
  }
}

TEST(ObjectId, DiffersWithEachOfItsParts) {
  const ObjectId id = object_id("scope", "key", "etag");
  EXPECT_EQ(object_id("scope", "key", "etag"), id);
  EXPECT_NE(object_id("scopf", "key", "etag"), id);
  EXPECT_NE(object_id("scope", "kez", "etag"), id);
  EXPECT_NE(object_id("scope", "key", "etah"), id);
  EXPECT_NE(object_id("scope", "ke", "yetag"), id);
}

TEST(ChunkParts, CoverTheRangeWithoutAGap) {
  const auto parts = chunk_parts({1, 2}, kChunkBytes - 1, kChunkBytes + 2);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].range.length() + parts[1].range.length() + parts[2].range.length(),
            kChunkBytes + 2);
  EXPECT_EQ(parts[0].chunk.number, 0U);
  EXPECT_EQ(parts[1].range.length(), kChunkBytes);
  EXPECT_EQ(parts[2].chunk.number, 2U);
  EXPECT_EQ(parts[2].offset_bytes, kChunkBytes + 1);
}

}  // namespace
}  // namespace s3rdmafs::disk
