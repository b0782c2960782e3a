// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/block_pool.h"

#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

TEST(BlockPool, CutsASlabIntoBlocksOfOneClass) {
  SlabUsage users(1);
  BlockPool pool(users);
  const auto first = pool.take(BlockClass::k4MiB);
  const auto second = pool.take(BlockClass::k4MiB);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->slab, second->slab);
  EXPECT_NE(first->slot, second->slot);
  EXPECT_FALSE(pool.take(BlockClass::k4MiB)) << "8 MiB hold two blocks of 4 MiB and no third";
}

TEST(BlockPool, KeepsClassesInSlabsOfTheirOwn) {
  SlabUsage users(2);
  BlockPool pool(users);
  EXPECT_NE(pool.take(BlockClass::k64KiB)->slab, pool.take(BlockClass::k4MiB)->slab);
  EXPECT_FALSE(pool.take(BlockClass::k512KiB)) << "both slabs belong to other classes";
}

TEST(BlockPool, NamesTheLeastRecentlyUsedSlabWithoutUsersAsVictim) {
  SlabUsage users(2);
  BlockPool pool(users);
  const auto old_slab = pool.take(BlockClass::k64KiB)->slab;
  const auto new_slab = pool.take(BlockClass::k4MiB)->slab;
  EXPECT_EQ(pool.victim(), old_slab);
  users.add(old_slab);
  EXPECT_EQ(pool.victim(), new_slab) << "a slab with users is no victim, however old";
  EXPECT_FALSE(users.remove(old_slab));
  EXPECT_EQ(pool.victim(), new_slab) << "use made the old slab the younger one";
}

TEST(BlockPool, GivesReleasedSlabsToAnyClass) {
  SlabUsage users(1);
  BlockPool pool(users);
  const auto place = pool.take(BlockClass::k64KiB);
  ASSERT_FALSE(pool.take(BlockClass::k4MiB)) << "control: without release there is no room";
  pool.release(place->slab);
  EXPECT_TRUE(pool.take(BlockClass::k4MiB));
}

TEST(BlockPool, DoesNotUseAQuarantinedSlabBeforeItsRelease) {
  SlabUsage users(1);
  BlockPool pool(users);
  const auto place = pool.take(BlockClass::k64KiB);
  pool.quarantine(place->slab);
  EXPECT_EQ(pool.quarantined_count(), 1U);
  EXPECT_FALSE(pool.take(BlockClass::k64KiB)) << "its other slots are not given out";
  EXPECT_FALSE(pool.victim()) << "nor is it evicted";
  pool.release(place->slab);
  EXPECT_EQ(pool.quarantined_count(), 0U);
  EXPECT_TRUE(pool.take(BlockClass::k64KiB));
}

TEST(BlockPool, FreesARetiredSlabOnceItsLastUserIsGone) {
  SlabUsage users(1);
  BlockPool pool(users);
  const auto slab = pool.take(BlockClass::k64KiB)->slab;
  users.add(slab);  // a hit, between the choice of the victim and the end of its blocks
  pool.retire(slab);
  EXPECT_FALSE(pool.take(BlockClass::k64KiB));
  EXPECT_FALSE(pool.victim()) << "it is chosen already";
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kNotYet);
  EXPECT_TRUE(users.remove(slab)) << "the last user is told to reclaim";
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kFree);
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kNotYet) << "once";
  EXPECT_TRUE(pool.take(BlockClass::k64KiB));
}

TEST(BlockPool, HasAQuarantinedSlabFencedOnceAndWithoutUsers) {
  SlabUsage users(1);
  BlockPool pool(users);
  const auto slab = pool.take(BlockClass::k64KiB)->slab;
  users.add(slab);
  EXPECT_FALSE(pool.is_quarantined(slab));
  pool.quarantine(slab);
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kNotYet);
  EXPECT_TRUE(users.remove(slab));
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kToFence);
  EXPECT_EQ(pool.reclaim(slab), BlockPool::Reclaim::kNotYet) << "a thread that asks late";
  EXPECT_TRUE(pool.is_quarantined(slab));
  pool.release(slab);
  EXPECT_EQ(pool.quarantined_count(), 0U);
}

TEST(BlockPool, EvictsTheLatestStreamedSlabsOutsideTheSparedHalf) {
  SlabUsage users(4);
  BlockPool pool(users);
  std::vector<std::uint32_t> slabs;
  for (int i = 0; i < 4; ++i) slabs.push_back(pool.take(BlockClass::k8MiB)->slab);
  users.mark_streamed(slabs[1]);
  users.mark_streamed(slabs[2]);
  EXPECT_EQ(pool.victim(), slabs[0]) << "the control: two of four are no more than half";
  users.mark_streamed(slabs[3]);
  EXPECT_EQ(pool.victim(), slabs[1]);
  users.mark_streamed(slabs[0]);
  users.touch(slabs[0]);
  EXPECT_EQ(pool.victim(), slabs[1]) << "a reader behind changes nothing";
  pool.protect(slabs[1]);
  EXPECT_EQ(pool.victim(), slabs[0]) << "what was read again stays";
  pool.release(slabs[0]);
  EXPECT_EQ(pool.take(BlockClass::k8MiB)->slab, slabs[0]);
  EXPECT_EQ(pool.victim(), slabs[2]) << "a slab starts again: two are left, and this is the oldest";
}

TEST(BlockPool, EvictsASlabUnusedForLongBeforeStreamedSlabs) {
  SlabUsage users(4);
  BlockPool pool(users);
  std::vector<std::uint32_t> slabs;
  for (int i = 0; i < 4; ++i) slabs.push_back(pool.take(BlockClass::k8MiB)->slab);
  // A large object passes by and by through the other three.
  for (int i = 1; i < 4; ++i) users.mark_streamed(slabs.at(i));
  int turns = 0;
  while (pool.victim() != slabs[0]) {
    ASSERT_LT(++turns, 100);
    const std::uint32_t victim = *pool.victim();
    pool.release(victim);
    users.mark_streamed(pool.take(BlockClass::k8MiB)->slab);
  }
  EXPECT_EQ(turns, 16 - 3) << "four times the cache has come in since";
}

// --- Data that is read again outlives data that streams by ---

class BlockPoolProtectTest : public ::testing::Test {
 protected:
  /// Takes a slab, by evicting where it must.
  std::uint32_t take_slab() {
    auto place = pool_.take(BlockClass::k4MiB);
    if (!place) {
      const auto victim = pool_.victim();
      pool_.release(*victim);
      place = pool_.take(BlockClass::k4MiB);
    }
    EXPECT_TRUE(pool_.take(BlockClass::k4MiB)) << "its other half";
    return place->slab;
  }
  void stream_by(std::size_t slabs) {
    for (std::size_t i = 0; i < slabs; ++i) take_slab();
  }

  SlabUsage users_{8};
  BlockPool pool_{users_};
};

TEST_F(BlockPoolProtectTest, EvictsSlabsReadOnceBeforeSlabsReadAgain) {
  const std::uint32_t hot = take_slab();
  pool_.protect(hot);
  const std::uint32_t cold = take_slab();
  stream_by(6);
  EXPECT_EQ(pool_.victim(), cold);
  stream_by(20);
  EXPECT_TRUE(pool_.is_protected(hot));
  EXPECT_NE(pool_.victim(), hot);
}

TEST_F(BlockPoolProtectTest, EndsTheProtectionOfSlabsThatAreNoLongerRead) {
  const std::uint32_t hot = take_slab();
  pool_.protect(hot);
  stream_by(4 * 8 + 1);
  EXPECT_FALSE(pool_.is_protected(hot)) << "four times the cache has come in since";
}

TEST_F(BlockPoolProtectTest, ProtectsAtMostThreeQuartersAndTheLatestOfThem) {
  std::vector<std::uint32_t> hot;
  for (int i = 0; i < 7; ++i) {
    hot.push_back(take_slab());
    pool_.protect(hot.back());
  }
  EXPECT_FALSE(pool_.is_protected(hot.front()));
  EXPECT_TRUE(pool_.is_protected(hot.at(1)));
  EXPECT_TRUE(pool_.is_protected(hot.back()));
}

TEST_F(BlockPoolProtectTest, EvictsAProtectedSlabRatherThanNone) {
  SlabUsage users(1);
  BlockPool small(users);
  const auto place = small.take(BlockClass::k4MiB);
  small.protect(place->slab);
  EXPECT_EQ(small.victim(), place->slab);
}

TEST(BlockClassFor, IsTheSmallestThatHoldsTheObject) {
  EXPECT_EQ(block_class_for(1), BlockClass::k64KiB);
  EXPECT_EQ(block_class_for(64 * kKiB), BlockClass::k64KiB);
  EXPECT_EQ(block_class_for(64 * kKiB + 1), BlockClass::k128KiB);
  EXPECT_EQ(block_class_for(512 * kKiB), BlockClass::k512KiB);
  EXPECT_EQ(block_class_for(2 * kMiB + 1), BlockClass::k4MiB);
  EXPECT_EQ(block_class_for(4 * kMiB + 1), BlockClass::k8MiB);
  EXPECT_EQ(block_class_for(kTiB), BlockClass::k8MiB) << "a slab at most";
}

}  // namespace
}  // namespace s3rdmafs::cache
