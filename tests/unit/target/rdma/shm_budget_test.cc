// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/shm/shm_budget.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;
constexpr ShmHoldings kSession{.sessions = 1, .regions = 0, .bytes = 0};

ShmHoldings region(std::uint64_t bytes) { return {.sessions = 0, .regions = 1, .bytes = bytes}; }

class ShmBudgetTest : public testing::Test {
 protected:
  ShmBudget budget_{{.each_user = {.sessions = 2, .regions = 3, .bytes = 1000},
                     .all_users = {.sessions = 3, .regions = 4, .bytes = 1500}}};
  std::vector<ShmBudget::Share> shares_;

  /// Whether it was granted; it is then held to the end.
  bool take(uid_t user, const ShmHoldings& wanted) {
    auto share = budget_.take(user, wanted);
    if (!share) {
      EXPECT_EQ(share.error().code, ErrorCode::kNoMemory);
      return false;
    }
    shares_.push_back(std::move(*share));
    return true;
  }
};

TEST_F(ShmBudgetTest, GrantsOneUserSoManySessionsAndNoMore) {
  EXPECT_TRUE(take(kUser, kSession));
  EXPECT_TRUE(take(kUser, kSession));
  EXPECT_FALSE(take(kUser, kSession));
  EXPECT_TRUE(take(kOther, kSession)) << "control: another user still gets in";
}

TEST_F(ShmBudgetTest, GrantsAllUsersTogetherSoManySessionsAndNoMore) {
  EXPECT_TRUE(take(1, kSession));
  EXPECT_TRUE(take(2, kSession));
  EXPECT_TRUE(take(3, kSession));
  EXPECT_FALSE(take(4, kSession));
}

TEST_F(ShmBudgetTest, BoundsRegionsOfOneUserAndOfAll) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(kUser, region(1)));
  EXPECT_FALSE(take(kUser, region(1)));
  EXPECT_TRUE(take(kOther, region(1)));
  EXPECT_FALSE(take(kOther, region(1))) << "all users together have as many as they may";
}

TEST_F(ShmBudgetTest, BoundsBytesOfOneUserAndOfAll) {
  EXPECT_FALSE(take(kUser, region(1001)));
  EXPECT_TRUE(take(kUser, region(1000))) << "control: a refused request took nothing";
  EXPECT_FALSE(take(kOther, region(501)));
  EXPECT_TRUE(take(kOther, region(500)));
}

TEST_F(ShmBudgetTest, RefusesLengthsWhoseSumWouldWrap) {
  EXPECT_TRUE(take(kUser, region(10)));
  EXPECT_FALSE(take(kUser, region(~std::uint64_t{0})));
  EXPECT_FALSE(take(kUser, region(~std::uint64_t{0} - 9)));
}

TEST_F(ShmBudgetTest, TakesBackWhatAShareHeldOnceAlthoughItWasMoved) {
  std::optional<ShmBudget::Share> share(budget_.take(kUser, region(1000)).value());
  {
    const ShmBudget::Share moved(std::move(*share));
    share.reset();
    EXPECT_FALSE(take(kUser, region(1))) << "the one that was moved to still holds it";
  }
  EXPECT_TRUE(take(kUser, region(1000)));
}

TEST_F(ShmBudgetTest, SaysWhoMayHoldHowMuch) {
  EXPECT_EQ(budget_.take(kUser, region(1001)).error().detail,
            "user 1000 may hold 1000 bytes at most");
}

TEST(ShmLimits, LeaveMappingsAndAddressesForTheServerItself) {
  // 8,192 connections of HTTP have a thread each, and a thread two mappings.
  constexpr std::uint64_t kMappingsMax = 65'530;
  const ShmLimits limits = shm_limits(kMappingsMax);
  EXPECT_LT(limits.all_users.regions + 2 * limits.all_users.sessions + 2 * 8192, kMappingsMax);
  EXPECT_LT(limits.all_users.bytes, 128 * kTiB);
  EXPECT_LT(limits.each_user.sessions, limits.all_users.sessions);
  EXPECT_LT(limits.each_user.regions, limits.all_users.regions);
  EXPECT_LT(limits.each_user.bytes, limits.all_users.bytes);
  EXPECT_EQ(limits.each_user.regions, 30'714U) << "s3rdma-target(1) names this number";
}

TEST(ShmLimits, GrowWithTheMappingsThatTheKernelAllows) {
  EXPECT_GE(shm_limits(1'048'576).each_user.regions * 8 * kMiB, 3 * kTiB);
}

}  // namespace
}  // namespace s3rdmafs::target
