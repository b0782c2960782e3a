// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/rc/rc_sessions.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_rc_connector.h"

namespace s3rdmafs::target {
namespace {

using std::chrono::seconds;

class RcSessionsTest : public testing::Test {
 protected:
  std::string open() { return sessions_.add(device_.connect({}, 1).value().link).value(); }

  fakes::FakeRcConnector device_;
  fakes::FakeClock clock_;
  RcSessions sessions_{clock_};
};

TEST_F(RcSessionsTest, IdsAreThirtyTwoHexDigitsAndNeverTheSame) {
  const std::string id = open();
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(open(), id);
}

TEST_F(RcSessionsTest, OneRequestAtATimeHoldsASession) {
  const std::string id = open();
  {
    auto first = sessions_.borrow(id);
    ASSERT_TRUE(first);
    EXPECT_EQ(sessions_.borrow(id).error().code, ErrorCode::kUnreachable);
    first->keep();
  }
  EXPECT_TRUE(sessions_.borrow(id)) << "kept, it serves the next";
}

TEST_F(RcSessionsTest, ASessionThatWasNotKeptIsGoneWithItsQueuePair) {
  const std::string id = open();
  {
    auto failed = sessions_.borrow(id);
  }
  EXPECT_EQ(device_.links_alive, 0);
  EXPECT_FALSE(sessions_.borrow(id));
}

TEST_F(RcSessionsTest, RemovingEndsAnIdleSessionAndNotABusyOne) {
  const std::string idle = open();
  const std::string busy = open();
  auto held = sessions_.borrow(busy);
  sessions_.remove(idle);
  sessions_.remove(busy);
  sessions_.remove("unknown");
  EXPECT_FALSE(sessions_.borrow(idle));
  held->keep();
  EXPECT_TRUE(sessions_.borrow(busy));
}

TEST_F(RcSessionsTest, TimeWithoutATransferEndsASession) {
  const std::string quiet = open();
  const std::string used = open();
  const std::string busy = open();
  auto held = sessions_.borrow(busy);
  clock_.advance(RcSessions::kIdleMax);
  sessions_.borrow(used)->keep();
  clock_.advance(seconds(1));
  sessions_.remove_idle();
  EXPECT_FALSE(sessions_.borrow(quiet));
  EXPECT_TRUE(sessions_.borrow(used)) << "time counts from its last transfer";
  held->keep();
  EXPECT_TRUE(sessions_.borrow(busy));
}

TEST_F(RcSessionsTest, NoMoreThanTheLimitAreOpen) {
  for (std::size_t i = 0; i < RcSessions::kSessionsMax; ++i) open();
  EXPECT_EQ(sessions_.add(device_.connect({}, 1).value().link).error().code, ErrorCode::kThrottled);
  EXPECT_EQ(device_.links_alive, static_cast<int>(RcSessions::kSessionsMax))
      << "the refused one is destroyed";
}

}  // namespace
}  // namespace s3rdmafs::target
