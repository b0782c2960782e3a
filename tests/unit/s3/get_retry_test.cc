// SPDX-License-Identifier: Apache-2.0
// GETs and listings whose attempts fail: what is sent again, by which path, and until when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::error_answer;
using fakes::ScriptedAnswer;
using ::testing::HasSubstr;

class GetRetryTest : public ObjectReaderTest {
 protected:
  /// How a GET ends that the server never answers.
  GetFailure end_of_an_unanswered_get() {
    server_.then({.hold = true});
    return get(200ms).error();
  }
};

TEST_F(GetRetryTest, RetriesAfterABodyThatBroke) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(broken(body_answer()));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(counted("s3_retries_total"), 1U);
  EXPECT_EQ(counted("s3_attempts_failed_total", R"(kind="Unreachable")"), 1U);
}

TEST_F(GetRetryTest, EndsATokenGetWhoseAnswerBroke) {
  server_.then(broken(body_answer()));
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_TRUE(result.error().late_write_possible);
  EXPECT_EQ(server_.seen().size(), 1U) << "not sent again into the same memory";
}

TEST_F(GetRetryTest, RetriesAfter503) {
  server_.then(error_answer(503, "SlowDown"));
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_TRUE(has_token(1)) << "503 says nothing about RDMA";
  EXPECT_EQ(counted("s3_attempts_failed_total", R"(kind="Throttled")"), 1U);
}

TEST_F(GetRetryTest, DropsTheTokenAfter500FromAServerThatNeverDidRdma) {
  server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("s3_retries_total"), 1U);
}

TEST_F(GetRetryTest, RepeatsAFailedTransferByTokenIfRdmaHasWorked) {
  server_.then(rdma_answer());
  server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_EQ(fallbacks("transfer_failed"), 0U);
}

TEST_F(GetRetryTest, GoesByHttpAfterTheSecondFailedTransfer) {
  server_.then(rdma_answer());
  for (int i = 0; i < 2; ++i) server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(body_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(has_token(2));
  EXPECT_FALSE(has_token(3));
  EXPECT_EQ(fallbacks("transfer_failed"), 1U);
}

TEST_F(GetRetryTest, GivesUpWhenAttemptsAreSpent) {
  server_.then(error_answer(503, "SlowDown"));
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kThrottled);
  EXPECT_THAT(result.error().error.detail, HasSubstr("4 of 4 attempts"));
  EXPECT_EQ(server_.seen().size(), 4U);
}

TEST_F(GetRetryTest, GivesUpAtOnceIfRetryAfterIsPastTheDeadline) {
  ScriptedAnswer answer = error_answer(503, "SlowDown");
  answer.headers.emplace_back("Retry-After", "60");
  server_.then(answer);
  EXPECT_EQ(list(1s).error().code, ErrorCode::kThrottled);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(GetRetryTest, DoesNotRetryWhatIsForbidden) {
  server_.then(error_answer(403, "InvalidAccessKeyId"));
  EXPECT_EQ(list().error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(GetRetryTest, StopsRetryingWhenTheBudgetIsSpent) {
  options_.retry.attempts_max = 1000;
  options_.retry.backoff_first = options_.retry.backoff_max = 0ms;
  server_.then(error_answer(503, "SlowDown"));
  const Result<ListPage> result = list(60s);
  EXPECT_EQ(result.error().code, ErrorCode::kThrottled);
  EXPECT_GE(counted("s3_retries_total"), 100U) << "the budget's capacity";
  EXPECT_LT(counted("s3_retries_total"), 999U);
  EXPECT_EQ(counted("s3_retries_refused_total"), 1U);
}

TEST_F(GetRetryTest, FailsIfNoServerListens) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};  // tcpmux: not in use
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(result.error().late_write_possible) << "the token never left";
  EXPECT_EQ(counted("s3_retries_total"), 3U);
}

TEST_F(GetRetryTest, DropsTheSessionsOfAServerThatRefusesAConnection) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  options_.retry.attempts_max = 1;
  EXPECT_FALSE(get());
  EXPECT_EQ(region_.session_drops(), 1);
  EXPECT_EQ(region_.fate_when_dropped(), std::nullopt)
      << "the refused request's own session comes back later, and so is dropped too";
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kUnsent);
}

TEST_F(GetRetryTest, DropsTheSessionsOfAServerThatAnotherKindOfRequestCouldNotReach) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  options_.retry.attempts_max = 1;
  EXPECT_FALSE(list());
  EXPECT_EQ(region_.session_drops(), 0) << "only a transfer knows where there are any";
  EXPECT_FALSE(get());
  EXPECT_EQ(region_.session_drops(), 2)
      << "before it takes a token, and once it was refused itself";
}

// The control of both.
TEST_F(GetRetryTest, KeepsTheSessionsOfAServerThatAnswers) {
  server_.then(error_answer(503, "SlowDown"));
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(region_.session_drops(), 0);
}

// --- Deadlines ---

TEST_F(GetRetryTest, EndsATokenGetAtItsDeadline) {
  const GetFailure failure = end_of_an_unanswered_get();
  EXPECT_EQ(failure.error.code, ErrorCode::kTimedOut);
  EXPECT_TRUE(failure.late_write_possible);
}

TEST_F(GetRetryTest, EndsAPlainGetAtItsDeadline) {
  options_.rdma.mode = RdmaMode::kOff;
  const GetFailure failure = end_of_an_unanswered_get();
  EXPECT_EQ(failure.error.code, ErrorCode::kTimedOut);
  EXPECT_FALSE(failure.late_write_possible);
}

TEST_F(GetRetryTest, RetriesAfterAnAttemptTimedOut) {
  options_.rdma.mode = RdmaMode::kOff;
  options_.http.connect_timeout = 100ms;
  options_.http.request_timeout = 100ms;
  server_.then({.hold = true});
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(GetRetryTest, EndsWhatWaitsInLineAtItsDeadline) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  server_.then(held(rdma_answer()));
  server_.then(rdma_answer());
  Outcome<Got> busy;
  start_get(busy, soon(), region_);
  ASSERT_TRUE(server_.wait_for_requests(1));
  const auto result = get(200ms);
  EXPECT_EQ(result.error().error.code, ErrorCode::kTimedOut);
  EXPECT_FALSE(result.error().late_write_possible) << "it was never sent";
  EXPECT_FALSE(busy.is_there());

  Outcome<Got> next;
  start_get(next, soon(), region_);
  server_.release();
  EXPECT_TRUE(busy.wait());
  EXPECT_EQ(next.get().value(), Path::kRdma) << "and the line moves on";
  EXPECT_EQ(server_.seen().size(), 2U);
}

}  // namespace
}  // namespace s3rdmafs::s3
