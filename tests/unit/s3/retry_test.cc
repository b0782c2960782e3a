// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3/exchanges/retry_budget.h"
#include "s3/exchanges/retry_policy.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;

constexpr RetryPolicy kPolicy{.attempts_max = 6, .backoff_first = 100ms, .backoff_max = 1s};

class RetryPolicyTest : public ::testing::Test {
 protected:
  /// The wait before the next attempt, with an hour to go.
  auto wait(unsigned attempts_made, double jitter,
            std::optional<std::chrono::seconds> retry_after = {}) const {
    return *kPolicy.next_attempt(answered(attempts_made), now_, now_ + 1h, retry_after, jitter) -
           now_;
  }
  static FailedAttempts answered(unsigned count) { return {.made = count, .counted = count}; }
  /// After `answers` that were failures, attempts that reached no server.
  static FailedAttempts unreached(unsigned count, unsigned answers = 0) {
    return {.made = count + answers, .counted = answers, .last_was_counted = false};
  }
  const fakes::FakeClock clock_;
  const std::chrono::steady_clock::time_point now_ = clock_.now();
};

TEST_F(RetryPolicyTest, DoublesTheBoundUpToTheMost) {
  EXPECT_EQ(wait(1, 1), 100ms);
  EXPECT_EQ(wait(2, 1), 200ms);
  EXPECT_EQ(wait(3, 1), 400ms);
  EXPECT_EQ(wait(5, 1), 1s);
}

TEST_F(RetryPolicyTest, WaitsAnythingFromNothingToTheBound) {
  EXPECT_EQ(wait(3, 0), 0ms);
  EXPECT_EQ(wait(3, 0.5), 200ms);
}

TEST_F(RetryPolicyTest, NeverComesBackSoonerThanTheServerAsked) {
  EXPECT_EQ(wait(1, 0, 2s), 2s);
  EXPECT_EQ(wait(1, 1, 0s), 100ms);
}

TEST_F(RetryPolicyTest, StopsWhenAttemptsAreSpent) {
  EXPECT_TRUE(kPolicy.next_attempt(answered(5), now_, now_ + 1h, {}, 0));
  EXPECT_FALSE(kPolicy.next_attempt(answered(6), now_, now_ + 1h, {}, 0));
}

TEST_F(RetryPolicyTest, StopsAtTheDeadlineAloneWhileAServerCannotBeReached) {
  EXPECT_TRUE(kPolicy.next_attempt(unreached(1000), now_, now_ + 30s, {}, 1));
  EXPECT_FALSE(kPolicy.next_attempt(unreached(1000), now_, now_ + 5ms, {}, 0));
  EXPECT_TRUE(kPolicy.next_attempt(unreached(1000, /*answers=*/5), now_, now_ + 30s, {}, 1));
  EXPECT_FALSE(kPolicy.next_attempt(unreached(1000, /*answers=*/6), now_, now_ + 30s, {}, 1))
      << "answers count whatever came between them";
}

TEST_F(RetryPolicyTest, LooksForAServerThatCannotBeReachedEverySecondAtLeast) {
  const RetryPolicy patient{.attempts_max = 6, .backoff_first = 100ms, .backoff_max = 60s};
  EXPECT_EQ(*patient.next_attempt(unreached(20), now_, now_ + 1h, {}, 1) - now_, 1s);
  EXPECT_EQ(*patient.next_attempt(unreached(1), now_, now_ + 1h, {}, 1) - now_, 100ms);
  const RetryPolicy control{.attempts_max = 100, .backoff_first = 100ms, .backoff_max = 60s};
  EXPECT_EQ(*control.next_attempt(answered(20), now_, now_ + 1h, {}, 1) - now_, 60s);
}

TEST_F(RetryPolicyTest, MakesNothingAgainWhereOneAttemptIsAllowed) {
  const RetryPolicy once{.attempts_max = 1, .backoff_first = 100ms, .backoff_max = 1s};
  EXPECT_FALSE(once.next_attempt(unreached(1), now_, now_ + 1h, {}, 0));
  EXPECT_FALSE(once.next_attempt(answered(1), now_, now_ + 1h, {}, 0));
}

TEST_F(RetryPolicyTest, NeverBeginsWhatCannotEndByTheDeadline) {
  EXPECT_TRUE(kPolicy.next_attempt(answered(1), now_, now_ + 110ms, {}, 1));
  EXPECT_FALSE(kPolicy.next_attempt(answered(1), now_, now_ + 109ms, {}, 1));
  EXPECT_FALSE(kPolicy.next_attempt(answered(1), now_, now_ + 1s, 5s, 0))
      << "Retry-After is past it";
  EXPECT_FALSE(kPolicy.next_attempt(answered(1), now_, now_ - 1s, {}, 0));
}

TEST_F(RetryPolicyTest, DoesNotOverflowAfterManyAttempts) {
  const RetryPolicy endless{.attempts_max = 1000, .backoff_first = 100ms, .backoff_max = 1s};
  EXPECT_EQ(*endless.next_attempt(answered(999), now_, now_ + 1h, {}, 1) - now_, 1s);
}

unsigned spend_all(RetryBudget& budget) {
  unsigned spent = 0;
  while (budget.try_spend()) ++spent;
  return spent;
}

TEST(RetryBudget, RefusesOnceItIsSpent) {
  const fakes::FakeClock clock;
  RetryBudget budget(clock);
  EXPECT_EQ(spend_all(budget), static_cast<unsigned>(RetryBudget::kCapacity));
  EXPECT_FALSE(budget.try_spend());
}

TEST(RetryBudget, FillsWithRequests) {
  const fakes::FakeClock clock;
  RetryBudget budget(clock);
  spend_all(budget);
  for (int i = 0; i < 101; ++i) budget.on_request();
  EXPECT_EQ(spend_all(budget), 20U) << "a fifth of the requests";
}

TEST(RetryBudget, FillsWithTimeButNeverOverItsCapacity) {
  fakes::FakeClock clock;
  RetryBudget budget(clock);
  spend_all(budget);
  clock.advance(2s);
  EXPECT_EQ(spend_all(budget), 20U);
  clock.advance(1h);
  EXPECT_EQ(spend_all(budget), 100U);
}

}  // namespace
}  // namespace s3rdmafs::s3
