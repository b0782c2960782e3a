// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/rail_health.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using namespace std::chrono_literals;

class RailHealthTest : public ::testing::Test {
 protected:
  void fail(int times) {
    for (int i = 0; i < times; ++i) health_.on_end(TokenFate::kTransferFailed);
  }

  fakes::FakeClock clock_;
  RailHealth health_{clock_};
};

TEST_F(RailHealthTest, BecomesSuspectAfterThreeFailuresInARow) {
  fail(2);
  EXPECT_TRUE(health_.may_take());
  EXPECT_TRUE(health_.on_end(TokenFate::kUnanswered)) << "the third makes it suspect";
  EXPECT_FALSE(health_.may_take());
  EXPECT_FALSE(health_.on_end(TokenFate::kUnanswered)) << "reported once";
}

TEST_F(RailHealthTest, DoesNotCountRequestsThatWereGivenUp) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(health_.on_end(TokenFate::kGivenUp));
  EXPECT_TRUE(health_.may_take());
}

TEST_F(RailHealthTest, CountsOnlyFailuresInARow) {
  fail(2);
  health_.on_end(TokenFate::kAnswered);
  fail(2);
  EXPECT_TRUE(health_.may_take());
}

TEST_F(RailHealthTest, CountsRequestsThatCouldNotBeSentFromItsAddress) {
  EXPECT_TRUE(health_.may_bind());
  for (int i = 0; i < RailHealth::kFailuresMax; ++i) health_.on_end(TokenFate::kUnconnected);
  EXPECT_FALSE(health_.may_take());
  EXPECT_FALSE(health_.may_bind()) << "where it is taken all the same";
}

// They were cancelled, or no address could connect to their server.
TEST_F(RailHealthTest, DoesNotCountRequestsThatWereNeverSentForAnotherReason) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(health_.on_end(TokenFate::kUnsent));
  EXPECT_TRUE(health_.may_take());
}

// The control is IsTriedHalfAsOftenAfterEachTry...: tries that fail make the pauses longer.
TEST_F(RailHealthTest, IsTriedAsOftenAfterTriesThatWereNeverSent) {
  fail(RailHealth::kFailuresMax);
  for (int outage = 0; outage < 20; ++outage) {
    clock_.advance(RailHealth::kRetryInterval);
    ASSERT_TRUE(health_.may_take()) << outage;
    health_.on_end(TokenFate::kUnsent);
  }
}

TEST_F(RailHealthTest, IsNotClearedByAnswersToRequestsFromOtherAddresses) {
  for (int i = 0; i < RailHealth::kFailuresMax; ++i) health_.on_end(TokenFate::kUnconnected);
  health_.on_end(TokenFate::kAnsweredUnbound);
  EXPECT_FALSE(health_.may_take());
  EXPECT_FALSE(health_.may_bind());

  clock_.advance(RailHealth::kRetryInterval);
  EXPECT_TRUE(health_.may_bind()) << "the transfer that finds out";
  EXPECT_TRUE(health_.may_take());
  health_.on_end(TokenFate::kAnswered);
  EXPECT_TRUE(health_.may_take());
  EXPECT_TRUE(health_.may_bind());
}

TEST_F(RailHealthTest, IsClearedByAnyAnswerWhereItsConnectionsAreNotWhatFailed) {
  fail(3);
  EXPECT_TRUE(health_.may_bind());
  health_.on_end(TokenFate::kAnsweredUnbound);
  EXPECT_TRUE(health_.may_take());
}

TEST_F(RailHealthTest, IsTriedWithOneTransferAnIntervalUntilOneSucceeds) {
  fail(3);
  clock_.advance(RailHealth::kRetryInterval);
  EXPECT_TRUE(health_.may_take());
  EXPECT_FALSE(health_.may_take()) << "one is enough to find out";

  fail(1);
  clock_.advance(2 * RailHealth::kRetryInterval - 1ms);
  EXPECT_FALSE(health_.may_take());
  clock_.advance(1ms);
  EXPECT_TRUE(health_.may_take());

  health_.on_end(TokenFate::kAnswered);
  EXPECT_TRUE(health_.may_take());
  EXPECT_TRUE(health_.may_take()) << "and from now on for every transfer";
}

TEST_F(RailHealthTest, IsTriedHalfAsOftenAfterEachTryThatFailsDownToABound) {
  fail(3);
  auto interval = RailHealth::kRetryInterval;
  for (int tries = 0; tries < 20; ++tries) {
    clock_.advance(interval - 1ms);
    EXPECT_FALSE(health_.may_take()) << tries;
    clock_.advance(1ms);
    EXPECT_TRUE(health_.may_take()) << tries;
    fail(1);
    interval = std::min(2 * interval, RailHealth::kRetryIntervalMax);
  }
  EXPECT_EQ(interval, RailHealth::kRetryIntervalMax);

  health_.on_end(TokenFate::kAnswered);
  fail(3);
  clock_.advance(RailHealth::kRetryInterval);
  EXPECT_TRUE(health_.may_take()) << "after a success as soon as the first time";
}

// Requests that were under way when the rail failed fail later, and are not tries.
TEST_F(RailHealthTest, IsTriedAsOftenAfterManyFailuresAtOnce) {
  fail(30);
  clock_.advance(RailHealth::kRetryInterval);
  EXPECT_TRUE(health_.may_take());
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
