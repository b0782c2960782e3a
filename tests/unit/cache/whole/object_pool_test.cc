// SPDX-License-Identifier: Apache-2.0
#include "cache/whole/object_pool.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ObjectPoolTest : public testing::Test {
 protected:
  std::optional<ObjectPool::Room> take(std::uint64_t bytes) {
    return pool_.take(bytes, [this](ObjectPool::FileId file) { return held_.contains(file); });
  }
  ObjectPool::FileId take_idle(std::uint64_t bytes) {
    const auto room = take(bytes).value();
    pool_.set_idle(room.file);
    return room.file;
  }

  std::set<ObjectPool::FileId> held_;
  ObjectPool pool_{{.bytes_max = 10, .files_max = 4}};
};

TEST_F(ObjectPoolTest, WithinTheBudgetFilesAreNew) {
  const auto a = take(4);
  const auto b = take(6);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->file, b->file);
  EXPECT_FALSE(a->reused || b->reused);
  EXPECT_EQ(pool_.bytes(), 10U);
}

TEST_F(ObjectPoolTest, BusyFilesAreNeverTaken) {
  ASSERT_TRUE(take(4) && take(6));
  EXPECT_FALSE(take(1));
  EXPECT_EQ(pool_.bytes(), 10U);
}

TEST_F(ObjectPoolTest, TheLeastRecentlyUsedGoesFirst) {
  const auto a = take_idle(4);
  const auto b = take_idle(4);
  pool_.set_busy(a);
  pool_.set_idle(a);  // used again
  const auto room = take(5).value();
  EXPECT_THAT(room.dropped, ElementsAre(b));
  EXPECT_FALSE(room.reused);
  EXPECT_EQ(pool_.bytes(), 9U);
}

TEST_F(ObjectPoolTest, AnEmptyFileThatFitsIsUsedAlthoughThereIsRoomForANewOne) {
  const auto other = take_idle(4);
  const auto spare = pool_.reserve(3).value();
  EXPECT_FALSE(take(3).value().reused) << "the control: it is still being made";
  pool_.set_empty(spare);
  const auto room = take(3).value();
  EXPECT_TRUE(room.reused);
  EXPECT_EQ(room.file, spare);
  EXPECT_NE(room.file, other);
}

TEST_F(ObjectPoolTest, NothingGoesForAReservation) {
  take_idle(8);
  EXPECT_FALSE(pool_.reserve(3));
  EXPECT_TRUE(pool_.reserve(2));
  EXPECT_EQ(pool_.bytes(), 10U);
}

TEST_F(ObjectPoolTest, AReservationWaitsForFilesThatAreStillToBeClosed) {
  take_idle(8);
  ASSERT_TRUE(take(5));  // drops the 8
  EXPECT_FALSE(pool_.reserve(3)) << "5 of new and 8 of old are still there";
  pool_.set_closed(8);
  EXPECT_TRUE(pool_.reserve(3));
}

TEST_F(ObjectPoolTest, AVictimOfTheSameCapacityIsUsedAgain) {
  take_idle(3);
  const auto same = take_idle(4);
  take_idle(3);
  const auto room = take(4).value();
  EXPECT_EQ(room.file, same);
  EXPECT_TRUE(room.reused);
  EXPECT_THAT(room.dropped, IsEmpty());  // what stood before it in the order stays
  EXPECT_EQ(pool_.bytes(), 10U);
}

TEST_F(ObjectPoolTest, AHeldFileStaysAndIsTheLastToBeAskedAgain) {
  const auto held = take_idle(4);
  const auto other = take_idle(4);
  held_.insert(held);
  EXPECT_THAT(take(6).value().dropped, ElementsAre(other));
}

TEST_F(ObjectPoolTest, WhereOnlyHeldFilesAreLeftNothingGoes) {
  const auto small = take_idle(2);
  held_ = {take_idle(4), take_idle(4)};
  EXPECT_FALSE(take(4));
  EXPECT_EQ(pool_.bytes(), 10U);
  EXPECT_THAT(take(1).value().dropped, ElementsAre(small));  // it was not dropped by the one before
}

TEST_F(ObjectPoolTest, AnEmptyFileGoesBeforeAllOthers) {
  take_idle(5);
  const auto empty = take_idle(5);
  pool_.set_busy(empty);
  pool_.set_empty(empty);
  EXPECT_THAT(take(4).value().dropped, ElementsAre(empty));
}

TEST_F(ObjectPoolTest, FilesAreBoundedAsBytesAre) {
  const auto first = take_idle(1);
  for (int i = 0; i < 3; ++i) take_idle(1);
  EXPECT_THAT(take(2).value().dropped, ElementsAre(first));
  EXPECT_EQ(pool_.files(), 4U);
}

TEST_F(ObjectPoolTest, ACapacityAboveTheBudgetFindsNoRoomAndEvictsNothing) {
  take_idle(4);
  EXPECT_FALSE(take(11));
  EXPECT_EQ(pool_.bytes(), 4U);
}

}  // namespace
}  // namespace s3rdmafs::cache
