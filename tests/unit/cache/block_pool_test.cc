// SPDX-License-Identifier: Apache-2.0
#include "cache/block_pool.h"

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

TEST(BlockPool, CutsASlabIntoBlocksOfOneClass) {
  BlockPool pool(/*slab_count=*/1);
  const auto first = pool.take(BlockClass::k4MiB);
  const auto second = pool.take(BlockClass::k4MiB);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->slab, second->slab);
  EXPECT_NE(first->slot, second->slot);
  EXPECT_FALSE(pool.take(BlockClass::k4MiB)) << "8 MiB hold two blocks of 4 MiB and no third";
}

TEST(BlockPool, KeepsClassesInSlabsOfTheirOwn) {
  BlockPool pool(2);
  EXPECT_NE(pool.take(BlockClass::k64KiB)->slab, pool.take(BlockClass::k4MiB)->slab);
  EXPECT_FALSE(pool.take(BlockClass::k512KiB)) << "both slabs belong to other classes";
}

TEST(BlockPool, NamesTheLeastRecentlyUsedSlabWithoutUsersAsVictim) {
  BlockPool pool(2);
  const auto old_slab = pool.take(BlockClass::k64KiB)->slab;
  const auto new_slab = pool.take(BlockClass::k4MiB)->slab;
  EXPECT_EQ(pool.victim(), old_slab);
  pool.add_user(old_slab);
  EXPECT_EQ(pool.victim(), new_slab) << "a slab with users is no victim, however old";
  pool.remove_user(old_slab);
  EXPECT_EQ(pool.victim(), new_slab) << "use made the old slab the younger one";
}

TEST(BlockPool, GivesReleasedSlabsToAnyClass) {
  BlockPool pool(1);
  const auto place = pool.take(BlockClass::k64KiB);
  ASSERT_FALSE(pool.take(BlockClass::k4MiB)) << "control: without release there is no room";
  pool.release(place->slab);
  EXPECT_TRUE(pool.take(BlockClass::k4MiB));
}

TEST(BlockPool, LetsAQuarantinedSlabRestUntilItsRelease) {
  BlockPool pool(1);
  const auto place = pool.take(BlockClass::k64KiB);
  pool.quarantine(place->slab);
  EXPECT_EQ(pool.quarantined_count(), 1U);
  EXPECT_FALSE(pool.take(BlockClass::k64KiB)) << "its other slots are not given out";
  EXPECT_FALSE(pool.victim()) << "nor is it evicted";
  pool.release(place->slab);
  EXPECT_EQ(pool.quarantined_count(), 0U);
  EXPECT_TRUE(pool.take(BlockClass::k64KiB));
}

TEST(BlockClassFor, IsTheSmallestThatHoldsTheObject) {
  EXPECT_EQ(block_class_for(1), BlockClass::k64KiB);
  EXPECT_EQ(block_class_for(64 * kKiB), BlockClass::k64KiB);
  EXPECT_EQ(block_class_for(64 * kKiB + 1), BlockClass::k512KiB);
  EXPECT_EQ(block_class_for(512 * kKiB + 1), BlockClass::k4MiB);
  EXPECT_EQ(block_class_for(kTiB), BlockClass::k4MiB);
}

}  // namespace
}  // namespace s3rdmafs::cache
