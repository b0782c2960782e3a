// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/rail_health.h"

#include <gtest/gtest.h>

namespace s3rdmafs::rdma::mlx5 {
namespace {

using namespace std::chrono_literals;

class RailHealthTest : public ::testing::Test {
 protected:
  void fail(int times) {
    for (int i = 0; i < times; ++i) health_.on_end(TokenFate::kTransferFailed, now_);
  }

  RailHealth::TimePoint now_{1h};
  RailHealth health_;
};

TEST_F(RailHealthTest, BecomesSuspectAfterThreeFailuresInARow) {
  fail(2);
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_TRUE(health_.on_end(TokenFate::kUnanswered, now_)) << "the third makes it suspect";
  EXPECT_FALSE(health_.may_take(now_));
  EXPECT_FALSE(health_.on_end(TokenFate::kUnanswered, now_)) << "said once";
}

TEST_F(RailHealthTest, DoesNotCountWhatNobodyWaitedFor) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(health_.on_end(TokenFate::kGivenUp, now_));
  EXPECT_TRUE(health_.may_take(now_));
}

TEST_F(RailHealthTest, CountsOnlyFailuresInARow) {
  fail(2);
  health_.on_end(TokenFate::kAnswered, now_);
  fail(2);
  EXPECT_TRUE(health_.may_take(now_));
}

TEST_F(RailHealthTest, CountsRequestsThatCouldNotBeSentFromItsAddress) {
  for (int i = 0; i < RailHealth::kFailuresMax; ++i) health_.on_end(TokenFate::kUnsent, now_);
  EXPECT_FALSE(health_.may_take(now_));
}

TEST_F(RailHealthTest, IsTriedWithOneTransferAnIntervalUntilOneSucceeds) {
  fail(3);
  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_FALSE(health_.may_take(now_)) << "one is enough to find out";

  fail(1);
  EXPECT_FALSE(health_.may_take(now_ + RailHealth::kRetryInterval - 1ms));
  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_));

  health_.on_end(TokenFate::kAnswered, now_);
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_TRUE(health_.may_take(now_)) << "and from now on as often as wanted";
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
