// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/name_cache.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;

class NameCacheTest : public testing::Test {
 protected:
  NameAnswer present() const { return {Node::directory("a/"), clock_.now()}; }
  NameAnswer absent() const { return {std::nullopt, clock_.now()}; }

  fakes::FakeClock clock_;
  NameCache names_{clock_,
                   {.ttl = milliseconds(100), .negative_ttl = milliseconds(20), .entries_max = 4}};
};

TEST_F(NameCacheTest, APresentNameLivesForItsTtl) {
  names_.insert("a", present());
  clock_.advance(milliseconds(99));
  EXPECT_TRUE(names_.find("a"));
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(names_.find("a"));
}

TEST_F(NameCacheTest, AnAbsentNameLivesForItsOwnShorterTtl) {
  names_.insert("a", absent());
  clock_.advance(milliseconds(19));
  ASSERT_TRUE(names_.find("a"));
  EXPECT_FALSE(names_.find("a")->node);
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(names_.find("a"));
}

TEST_F(NameCacheTest, TheNewerAnswerWinsInAnyOrderOfArrival) {
  const NameAnswer early = absent();
  clock_.advance(milliseconds(1));
  names_.insert("a", present());
  names_.insert("a", early);
  EXPECT_TRUE(names_.find("a")->node) << "the old answer came late";
  clock_.advance(milliseconds(1));
  names_.insert("a", absent());
  EXPECT_FALSE(names_.find("a")->node);
}

TEST_F(NameCacheTest, TakesNoMoreMemoryThanItMayHoweverLongTheKeys) {
  metrics::Gauge bytes;
  NameCache names(clock_,
                  {.ttl = milliseconds(100),
                   .negative_ttl = milliseconds(20),
                   .entries_max = 1'000'000,
                   .bytes_max = 100'000},
                  &bytes);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::string(1000, 'k') + std::to_string(i);
    names.insert(key, {Node::directory(key + "/"), clock_.now()});
    EXPECT_LE(bytes.value(), 100'000);
    EXPECT_TRUE(names.find(key)) << "the newest is there";
    if (i % 3 == 0) names.invalidate(key, clock_.now());
    if (i % 5 == 0) names.insert(key, {Node::directory("other/"), clock_.now()});
  }
  EXPECT_GT(bytes.value(), 20'000) << "the control";
  EXPECT_FALSE(names.find(std::string(1000, 'k') + "1"));
}

TEST_F(NameCacheTest, NeverHoldsMoreThanItsBoundAndDropsTheOldest) {
  for (const char* key : {"1", "2", "3", "4", "5"}) names_.insert(key, present());
  EXPECT_FALSE(names_.find("1"));
  EXPECT_FALSE(names_.find("2"));
  EXPECT_TRUE(names_.find("3"));
  EXPECT_TRUE(names_.find("4"));
  EXPECT_TRUE(names_.find("5"));
}

TEST_F(NameCacheTest, AnAnswerOlderThanAForgottenChangeIsNotKept) {
  const NameAnswer early = present();
  clock_.advance(milliseconds(1));
  names_.invalidate("a", clock_.now());
  for (const char* key : {"1", "2", "3", "4", "5"}) names_.insert(key, present());
  names_.insert("a", early);
  EXPECT_FALSE(names_.find("a")) << "the change was forgotten, and the answer is older";
  clock_.advance(milliseconds(1));
  names_.insert("a", present());
  EXPECT_TRUE(names_.find("a")) << "the control: a newer one is";
}

TEST_F(NameCacheTest, ATtlOfZeroKeepsNothingAndEndsAKeptAnswer) {
  NameCache no_negatives(clock_, {.ttl = milliseconds(100), .entries_max = 4});
  no_negatives.insert("a", present());
  no_negatives.insert("a", absent());
  EXPECT_FALSE(no_negatives.find("a"));
}

TEST_F(NameCacheTest, TimeLeftCountsDownToZeroAndNotBelow) {
  const SeenAt seen_at = clock_.now();
  EXPECT_EQ(names_.time_left(seen_at), milliseconds(100));
  clock_.advance(milliseconds(40));
  EXPECT_EQ(names_.time_left(seen_at), milliseconds(60));
  clock_.advance(milliseconds(400));
  EXPECT_EQ(names_.time_left(seen_at), milliseconds(0));
  EXPECT_EQ(names_.time_left(SeenAt::min()), milliseconds(0));
}

}  // namespace
}  // namespace s3rdmafs::vfs
