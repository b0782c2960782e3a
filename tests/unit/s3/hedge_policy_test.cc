// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/hedge_policy.h"

#include <gtest/gtest.h>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;

void read(HedgePolicy& policy, std::size_t length_bytes, std::chrono::nanoseconds took, int times) {
  for (int i = 0; i < times; ++i) policy.on_done(length_bytes, took);
}

TEST(HedgePolicy, KnowsNoBoundBeforeItHasSeenReadsOfThatLength) {
  HedgePolicy policy;
  read(policy, kMiB, 100ms, HedgePolicy::kSamplesMin - 1);
  EXPECT_FALSE(policy.bound(kMiB));
  read(policy, kMiB, 100ms, 1);
  EXPECT_EQ(policy.bound(kMiB), HedgePolicy::kTimesMean * 100ms);
  EXPECT_FALSE(policy.bound(8 * kMiB)) << "another class";
}

TEST(HedgePolicy, NeverGoesBelowTheFloor) {
  HedgePolicy policy;
  read(policy, kMiB, 10us, HedgePolicy::kSamplesMin);
  EXPECT_EQ(policy.bound(kMiB), HedgePolicy::kFloor);
}

TEST(HedgePolicy, FollowsServersThatAreAllSlow) {
  HedgePolicy policy;
  read(policy, kMiB, 20ms, 100);
  read(policy, kMiB, 200ms, 500);
  EXPECT_GT(*policy.bound(kMiB), HedgePolicy::kTimesMean * 190ms);
}

TEST(HedgePolicy, AllowsAShareOfTheReadsOnly) {
  HedgePolicy policy;
  EXPECT_FALSE(policy.try_spend()) << "before there was any read";
  int spent = 0;
  constexpr int kReads = 10'000;
  for (int i = 0; i < kReads; ++i) {
    policy.on_read();
    if (policy.try_spend()) ++spent;
  }
  EXPECT_LE(spent, kReads * HedgePolicy::kPerRead + 1);
  EXPECT_GE(spent, kReads * HedgePolicy::kPerRead - 2) << "the control";
}

TEST(HedgePolicy, SavesSomeForWhenAServerHangs) {
  HedgePolicy policy;
  for (int i = 0; i < 10'000; ++i) policy.on_read();
  int spent = 0;
  while (policy.try_spend()) ++spent;
  EXPECT_EQ(spent, static_cast<int>(HedgePolicy::kCapacity));
}

}  // namespace
}  // namespace s3rdmafs::s3
