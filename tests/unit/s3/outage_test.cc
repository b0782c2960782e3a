// SPDX-License-Identifier: Apache-2.0
// The client while its server is being restarted: what reaches no server is made again until its
// deadline.
#include <optional>

#include <gtest/gtest.h>

#include "fakes/rdma/down_region.h"
#include "store_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::error_answer;
using fakes::ScriptedAnswer;
using fakes::ScriptedHttpServer;

constexpr unsigned kAttemptsMax = 4;
// More than attempts_max allows and than the retry budget holds.
constexpr std::uint64_t kManyRetries = 3 * static_cast<std::uint64_t>(RetryBudget::kCapacity);

ScriptedAnswer found() { return {.headers = {{"ETag", "\"v1\""}}, .body = "data"}; }

class OutageTest : public StoreTest {
 protected:
  OutageTest() {
    options_.endpoint.urls = {server_->url()};
    options_.rdma.mode = RdmaMode::kOff;
    options_.retry = {.attempts_max = kAttemptsMax, .backoff_first = 1ms, .backoff_max = 2ms};
  }

  void start_head(Outcome<Result<ObjectInfo>>& outcome) {
    store().head("k", clock_.now() + 1min, outcome.done());
  }
  Result<ObjectInfo> head() {
    Outcome<Result<ObjectInfo>> outcome;
    start_head(outcome);
    return outcome.get();
  }

  /// Whether this many retries were made before the operation ended.
  template <class T>
  bool retries_reach(std::uint64_t count, Outcome<T>& outcome) {
    while (counted("s3_retries_total") < count) {
      if (outcome.is_there_in(1ms)) return false;
    }
    return true;
  }

  std::optional<ScriptedHttpServer> server_{std::in_place};
};

TEST_F(OutageTest, ARefusedConnectionIsTriedAgainPastAttemptsAndBudget) {
  server_->then(found());
  ASSERT_TRUE(head());
  server_.reset();
  Outcome<Result<ObjectInfo>> outcome;
  start_head(outcome);
  EXPECT_TRUE(retries_reach(kManyRetries, outcome));
  EXPECT_EQ(counted("s3_retries_refused_total"), 0U) << "refusals cost the server nothing";
  store().shut_down();
}

TEST_F(OutageTest, AConnectionThatBreaksBeforeAnyAnswerIsTriedAgainPastTheAttempts) {
  server_->then(found());
  for (unsigned i = 0; i < 5 * kAttemptsMax; ++i) server_->then({.cut = true});
  server_->then(found());
  ASSERT_TRUE(head());
  EXPECT_TRUE(head());
  EXPECT_GE(counted("s3_retries_total"), kAttemptsMax);
}

TEST_F(OutageTest, AMountThatGoesDownDoesNotWaitForTheFabric) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_->then(found());
  ASSERT_TRUE(head());
  fakes::DownRegion region(4);
  Outcome<Got> outcome;
  store().get({.key = "k", .etag = kEtag, .window = {.region = &region, .offset = 0, .length = 4}},
              clock_.now() + 10min, outcome.done());
  ASSERT_TRUE(retries_reach(1, outcome));
  store().shut_down();
  ASSERT_TRUE(outcome.is_there());
  EXPECT_EQ(outcome.get().error().error.code, ErrorCode::kCancelled);
}

// The control of both.
TEST_F(OutageTest, AnswersCountAsAttempts) {
  server_->then(found());
  server_->then(error_answer(503, "SlowDown"));
  ASSERT_TRUE(head());
  EXPECT_EQ(head().error().code, ErrorCode::kThrottled);
  EXPECT_EQ(server_->seen().size(), 1U + kAttemptsMax);
}

TEST_F(OutageTest, AnOutageInTheMiddleLeavesTheAttemptsThatAnswersHaveLeft) {
  server_->then(found());
  for (unsigned i = 1; i < kAttemptsMax; ++i) {
    server_->then(error_answer(503, "SlowDown"));
    for (int cut = 0; cut < 4; ++cut) server_->then({.cut = true});
  }
  server_->then(found());
  ASSERT_TRUE(head());
  EXPECT_TRUE(head());
}

TEST_F(OutageTest, AServerThatNeverAnsweredIsGivenUpAfterTheAttempts) {
  server_.reset();
  EXPECT_EQ(head().error().code, ErrorCode::kUnreachable) << "the address may be wrong";
  EXPECT_EQ(counted("s3_retries_total"), kAttemptsMax - 1);
}

}  // namespace
}  // namespace s3rdmafs::s3
