// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/generations.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

TEST(Generations, AreNoneWhereEachVersionHasAnETagOfItsOwn) {
  Generations generations(10);
  for (const char* etag : {"1", "2", "3"}) {
    EXPECT_FALSE(generations.stored("key", etag));
    generations.seen("key", etag);
  }
  EXPECT_EQ(generations.of("key", "3"), 0U);
}

TEST(Generations, TellAnETagThatComesBackWithAStore) {
  Generations generations(10);
  generations.seen("key", "1");
  EXPECT_TRUE(generations.stored("key", "1"));
  const std::uint64_t second = generations.of("key", "1");
  EXPECT_NE(second, 0U);
  generations.seen("key", "1");
  EXPECT_EQ(generations.of("key", "1"), second) << "only a store makes another version";
  generations.stored("key", "1");
  EXPECT_NE(generations.of("key", "1"), second);
  EXPECT_EQ(generations.of("other", "1"), 0U);
  EXPECT_EQ(generations.of("key", "2"), 0U);
}

TEST(Generations, RememberTheLatestVersions) {
  constexpr std::size_t kMax = 100;
  Generations generations(kMax);
  for (std::size_t i = 0; i < 10 * kMax; ++i) generations.seen("key" + std::to_string(i), "1");
  generations.stored("key0", "1");
  generations.stored("key" + std::to_string(9 * kMax), "1");
  EXPECT_EQ(generations.of("key0", "1"), 0U);
  EXPECT_NE(generations.of("key" + std::to_string(9 * kMax), "1"), 0U);
}

TEST(Generations, NeverComeBackWhenTheyAreTooMany) {
  Generations generations(2);
  generations.stored("key", "1");
  generations.stored("key", "1");
  const std::uint64_t before = generations.of("key", "1");
  for (const char* key : {"a", "b", "c", "d"}) {
    generations.stored(key, "1");
    generations.stored(key, "1");
  }
  EXPECT_NE(generations.of("key", "1"), before);
  EXPECT_NE(generations.of("key", "1"), 0U) << "what is cached without one may be of the first";
}

}  // namespace
}  // namespace s3rdmafs::vfs
