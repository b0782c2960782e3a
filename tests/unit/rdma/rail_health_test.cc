// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/rail_health.h"

#include <algorithm>

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
  EXPECT_TRUE(health_.may_bind(now_));
  for (int i = 0; i < RailHealth::kFailuresMax; ++i) health_.on_end(TokenFate::kUnconnected, now_);
  EXPECT_FALSE(health_.may_take(now_));
  EXPECT_FALSE(health_.may_bind(now_)) << "where it is taken all the same";
}

// Cancelled, or sent to a server that nobody can connect to.
TEST_F(RailHealthTest, DoesNotCountWhatWasNeverSentForAnotherReason) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(health_.on_end(TokenFate::kUnsent, now_));
  EXPECT_TRUE(health_.may_take(now_));
}

// The control is IsTriedHalfAsOftenAfterEachTry...: tries that fail do make the pauses longer.
TEST_F(RailHealthTest, IsTriedNoMoreSeldomForTriesThatWereNeverSent) {
  fail(RailHealth::kFailuresMax);
  for (int outage = 0; outage < 20; ++outage) {
    now_ += RailHealth::kRetryInterval;
    ASSERT_TRUE(health_.may_take(now_)) << outage;
    health_.on_end(TokenFate::kUnsent, now_);
  }
}

TEST_F(RailHealthTest, IsNotClearedByAnswersToRequestsFromOtherAddresses) {
  for (int i = 0; i < RailHealth::kFailuresMax; ++i) health_.on_end(TokenFate::kUnconnected, now_);
  health_.on_end(TokenFate::kAnsweredUnbound, now_);
  EXPECT_FALSE(health_.may_take(now_));
  EXPECT_FALSE(health_.may_bind(now_));

  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_bind(now_)) << "the transfer that finds out";
  EXPECT_TRUE(health_.may_take(now_));
  health_.on_end(TokenFate::kAnswered, now_);
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_TRUE(health_.may_bind(now_));
}

TEST_F(RailHealthTest, IsClearedByAnyAnswerWhereItsConnectionsAreNotWhatFailed) {
  fail(3);
  EXPECT_TRUE(health_.may_bind(now_));
  health_.on_end(TokenFate::kAnsweredUnbound, now_);
  EXPECT_TRUE(health_.may_take(now_));
}

TEST_F(RailHealthTest, IsTriedWithOneTransferAnIntervalUntilOneSucceeds) {
  fail(3);
  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_FALSE(health_.may_take(now_)) << "one is enough to find out";

  fail(1);
  EXPECT_FALSE(health_.may_take(now_ + 2 * RailHealth::kRetryInterval - 1ms));
  now_ += 2 * RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_));

  health_.on_end(TokenFate::kAnswered, now_);
  EXPECT_TRUE(health_.may_take(now_));
  EXPECT_TRUE(health_.may_take(now_)) << "and from now on as often as wanted";
}

TEST_F(RailHealthTest, IsTriedHalfAsOftenAfterEachTryThatFailsDownToABound) {
  fail(3);
  auto interval = RailHealth::kRetryInterval;
  for (int tries = 0; tries < 20; ++tries) {
    EXPECT_FALSE(health_.may_take(now_ + interval - 1ms)) << tries;
    now_ += interval;
    EXPECT_TRUE(health_.may_take(now_)) << tries;
    fail(1);
    interval = std::min(2 * interval, RailHealth::kRetryIntervalMax);
  }
  EXPECT_EQ(interval, RailHealth::kRetryIntervalMax);

  health_.on_end(TokenFate::kAnswered, now_);
  fail(3);
  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_)) << "after a success as soon as the first time";
}

// What was under way when the rail failed fails after it, and is no try.
TEST_F(RailHealthTest, IsTriedNoMoreSeldomForManyFailuresAtOnce) {
  fail(30);
  now_ += RailHealth::kRetryInterval;
  EXPECT_TRUE(health_.may_take(now_));
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
