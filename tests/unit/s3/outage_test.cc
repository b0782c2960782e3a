// SPDX-License-Identifier: Apache-2.0
// The client while its server is being restarted: what reaches no server is made again until its
// deadline.
#include <future>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "fakes/rdma/down_region.h"
#include "fakes/s3/scripted_http_server.h"
#include "s3/http_object_store.h"

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

class OutageTest : public ::testing::Test {
 protected:
  OutageTest() {
    options_.bucket = "train";
    options_.endpoint = {.urls = {server_->url()}, .region = "us-east-1"};
    options_.rdma = {.mode = RdmaMode::kOff, .threshold_bytes = 0};
    options_.http = {
        .event_threads = 1, .connections_max = 8, .connect_timeout = 5s, .request_timeout = 20s};
    options_.retry = {.attempts_max = kAttemptsMax, .backoff_first = 1ms, .backoff_max = 2ms};
  }

  HttpObjectStore& store() {
    if (!store_) store_.emplace(options_, credentials_, clock_, metrics_);
    return *store_;
  }
  std::future<Result<ObjectInfo>> start_head() {
    auto promise = std::make_shared<std::promise<Result<ObjectInfo>>>();
    std::future<Result<ObjectInfo>> ended = promise->get_future();
    store().head("k", std::chrono::steady_clock::now() + 1min,
                 [promise](Result<ObjectInfo> info) { promise->set_value(std::move(info)); });
    return ended;
  }
  Result<ObjectInfo> head() { return start_head().get(); }  // bounded by its deadline
  std::uint64_t counted(const std::string& name) { return metrics_.counter(name, "").value(); }

  /// Whether so many retries were made before the operation ended.
  bool retries_reach(std::uint64_t count, const std::future<Result<ObjectInfo>>& ended) {
    while (counted("s3_retries_total") < count) {
      if (ended.wait_for(1ms) == std::future_status::ready) return false;
    }
    return true;
  }

  std::optional<ScriptedHttpServer> server_{std::in_place};
  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  HttpObjectStore::Options options_;
  std::optional<HttpObjectStore> store_;  // last: gone before what it borrows
};

TEST_F(OutageTest, ARefusedConnectionIsTriedAgainPastAttemptsAndBudget) {
  server_->then(found());
  ASSERT_TRUE(head());
  server_.reset();
  const std::future<Result<ObjectInfo>> ended = start_head();
  EXPECT_TRUE(retries_reach(kManyRetries, ended));
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
  std::promise<ErrorCode> promise;
  store().get(
      {.key = "k", .etag = "\"v1\"", .window = {.region = &region, .offset = 0, .length = 4}},
      std::chrono::steady_clock::now() + 10min, [&](std::expected<Path, GetFailure> outcome) {
        promise.set_value(outcome ? ErrorCode::kExists : outcome.error().error.code);
      });
  std::future<ErrorCode> ended = promise.get_future();
  while (counted("s3_retries_total") == 0)
    ASSERT_NE(ended.wait_for(1ms), std::future_status::ready);
  store().shut_down();
  ASSERT_EQ(ended.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(ended.get(), ErrorCode::kCancelled);
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
