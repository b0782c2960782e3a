// SPDX-License-Identifier: Apache-2.0
// The whole client against a server that does as it is told: RDMA answers, faults, retries, the
// end.
#include "s3/http_object_store.h"

#include <algorithm>
#include <future>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/down_region.h"
#include "fakes/rdma/fake_region.h"
#include "fakes/s3/scripted_http_server.h"
#include "s3/check_bucket.h"
#include "window.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::error_answer;
using fakes::ScriptedAnswer;
using ::testing::HasSubstr;

constexpr const char* kEtag = "\"v1\"";
const std::string kRange = "bytes 100-4195/100000";

std::string data_bytes(std::size_t count = kWindowBytes) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i < count; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

/// An ordinary answer to the range that get() asks for.
ScriptedAnswer body_answer() {
  return {
      .status = 206, .headers = {{"ETag", kEtag}, {"Content-Range", kRange}}, .body = data_bytes()};
}

ScriptedAnswer rdma_answer(const std::string& reply = "206", const std::string& count = "4096") {
  return {.status = 206,
          .headers = {{"ETag", kEtag},
                      {"Content-Range", kRange},
                      {"x-amz-rdma-reply", reply},
                      {"x-amz-rdma-bytes-transferred", count}}};
}

/// An operation's result, when it comes.
template <class T>
class Outcome {
 public:
  auto done() {
    return [this](T result) { promise_.set_value(std::move(result)); };
  }
  [[nodiscard]] bool wait() { return future_.wait_for(10s) == std::future_status::ready; }
  [[nodiscard]] bool is_there() { return future_.wait_for(0s) == std::future_status::ready; }
  T get() {
    if (!wait()) throw std::runtime_error("the operation never ended");
    return future_.get();
  }

 private:
  std::promise<T> promise_;
  std::future<T> future_ = promise_.get_future();
};

using GetOutcome = Outcome<std::expected<Path, GetFailure>>;

class HttpObjectStoreTest : public ::testing::Test {
 protected:
  HttpObjectStoreTest() {
    options_.bucket = "train";
    options_.endpoint = {.urls = {server_.url()}, .region = "us-east-1"};
    options_.rdma = {.mode = RdmaMode::kPrefer, .threshold_bytes = 1024};
    options_.http = {
        .event_threads = 2, .connections_max = 8, .connect_timeout = 2s, .request_timeout = 5s};
    options_.retry = {.attempts_max = 4, .backoff_first = 1ms, .backoff_max = 5ms};
  }

  HttpObjectStore& store() {
    if (!store_) store_.emplace(options_, credentials_, clock_, metrics_);
    return *store_;
  }

  void start_get(GetOutcome& outcome, Deadline deadline, rdma::MemoryRegion& region) {
    store().get({.key = "a/b c",
                 .etag = kEtag,
                 .offset_bytes = 100,
                 .window = {.region = &region, .offset = 64, .length = kWindowBytes}},
                deadline, outcome.done());
  }

  std::expected<Path, GetFailure> get(std::chrono::milliseconds limit = 10s) {
    GetOutcome outcome;
    start_get(outcome, std::chrono::steady_clock::now() + limit, region_);
    return outcome.get();
  }

  Result<ObjectInfo> head() {
    Outcome<Result<ObjectInfo>> outcome;
    store().head("a/b c", std::chrono::steady_clock::now() + 10s, outcome.done());
    return outcome.get();
  }

  Result<ListPage> list(std::chrono::milliseconds limit = 10s) {
    Outcome<Result<ListPage>> outcome;
    store().list({.prefix = "p/", .delimiter = "/", .continuation_token = "t", .keys_max = 10},
                 std::chrono::steady_clock::now() + limit, outcome.done());
    return outcome.get();
  }

  std::string window() const {
    const auto bytes = region_.bytes().subspan(64, kWindowBytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool is_untouched_outside() const {
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    return std::ranges::all_of(region_.bytes().first(64), is_zero) &&
           std::ranges::all_of(region_.bytes().subspan(64 + kWindowBytes), is_zero);
  }
  std::uint64_t counted(const std::string& name, const std::string& labels = {}) {
    return metrics_.counter(name, "", labels).value();
  }
  bool has_token(std::size_t request) {
    return server_.seen().at(request).headers.contains("x-amz-rdma-token");
  }

  fakes::ScriptedHttpServer server_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  HttpObjectStore::Options options_;
  fakes::FakeRegion region_{64 + kWindowBytes + 64};
  std::optional<HttpObjectStore> store_;  // last: gone before what it borrows
};

// --- What a good server says ---

TEST_F(HttpObjectStoreTest, TakesBytesThatCameByRdma) {
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
  const auto seen = server_.seen().at(0);
  EXPECT_EQ(seen.url, "/train/a/b%20c");
  EXPECT_EQ(seen.headers.at("range"), "bytes=100-4195");
  EXPECT_EQ(seen.headers.at("if-match"), kEtag);
  EXPECT_EQ(seen.headers.at("x-amz-rdma-token"), "fake:0:64:4096");
  EXPECT_EQ(seen.headers.at("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(counted("get_bytes_total", R"(path="rdma")"), kWindowBytes);
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), 0U);
}

// A server that loses the answers to tokens, and only those, must not fail reads for ever.
TEST_F(HttpObjectStoreTest, GoesByHttpAfterTheAnswersToThreeTokensWereLost) {
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) server_.then({.cut = true});
  server_.then(body_answer());
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) {
    EXPECT_TRUE(get().error().late_write_possible);
    EXPECT_TRUE(has_token(i));
  }
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(Capability::kFailuresMax));
}

TEST_F(HttpObjectStoreTest, KeepsAskingByTokenIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) server_.then({.cut = true});
  server_.then(rdma_answer());
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) EXPECT_FALSE(get());
  EXPECT_EQ(get().value(), Path::kRdma) << "an outage ends when the server is back";
}

// An RC session that a failed transfer broke, or a server that may still write, must not serve the
// next request; a session that a good answer left in peace should.
TEST_F(HttpObjectStoreTest, TellsTheFabricWhatBecameOfEachToken) {
  server_.then(rdma_answer());
  for (int i = 0; i < 2; ++i) server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(body_answer());
  server_.then({.cut = true});
  ASSERT_TRUE(get());
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kAnswered);
  ASSERT_TRUE(get());
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kTransferFailed);
  EXPECT_FALSE(get());
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kUnanswered);
}

TEST_F(HttpObjectStoreTest, TakesTheBodyIntoTheSameWindowIfTheServerKnowsNoRdma) {
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_TRUE(is_untouched_outside());
  EXPECT_TRUE(has_token(0));
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="no_reply_header")"), 1U);
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), kWindowBytes);

  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1)) << "the endpoint's no is believed for a while";
}

TEST_F(HttpObjectStoreTest, TakesTheBodyOfAnExplicitDecline) {
  ScriptedAnswer answer = body_answer();
  answer.headers.emplace_back("x-amz-rdma-reply", "501");
  server_.then(answer);
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="declined")"), 1U);
}

TEST_F(HttpObjectStoreTest, AsksAgainWithoutTheTokenIfItIsDeclinedByAnError) {
  server_.then(error_answer(501, "S3RdmaNotSupported"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(has_token(0));
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("s3_retries_total"), 0U) << "no failure, so no retry";
}

TEST_F(HttpObjectStoreTest, AsksAgainWithoutTheTokenIfItIsRejected) {
  server_.then(error_answer(400, "InvalidRDMAToken"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="token_rejected")"), 1U);
}

TEST_F(HttpObjectStoreTest, AsksAgainWithoutTheTokenIfFewerBytesCame) {
  server_.then(rdma_answer("206", "4000"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="truncated")"), 1U);
}

TEST_F(HttpObjectStoreTest, TakesNoByteFromSuccessWithABodyButAsksByHttp) {
  ScriptedAnswer answer = rdma_answer();
  answer.body = std::string(kWindowBytes, 'x');
  server_.then(answer);
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="success_with_body")"), 1U);
}

TEST_F(HttpObjectStoreTest, RefusesSuccessWithABodyAsCorruptIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  ScriptedAnswer answer = rdma_answer();
  answer.body = data_bytes();
  server_.then(answer);
  const auto result = get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, ErrorCode::kCorrupt);
  EXPECT_FALSE(result.error().late_write_possible) << "the server has answered";
}

TEST_F(HttpObjectStoreTest, SendsNoTokenBelowTheThresholdOrIfSwitchedOff) {
  server_.then(body_answer());
  options_.rdma.threshold_bytes = kWindowBytes + 1;
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(0));
  store_.reset();
  options_.rdma = {.mode = RdmaMode::kOff};
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
}

TEST_F(HttpObjectStoreTest, GoesByHttpWhileTheFabricIsDown) {
  server_.then(body_answer());
  fakes::DownRegion region(64 + kWindowBytes);
  GetOutcome outcome;
  start_get(outcome, std::chrono::steady_clock::now() + 10s, region);
  EXPECT_EQ(outcome.get().value(), Path::kHttp);
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="fabric_down")"), 1U);
}

// --- mode "require" ---

TEST_F(HttpObjectStoreTest, NeverFallsBackIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(body_answer());
  for (int i = 0; i < 2; ++i) {  // by the server's answer, then by what was learned from it
    const auto result = get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().error.detail, HasSubstr("require"));
  }
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HttpObjectStoreTest, WaitsForAFabricThatComesBackIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(rdma_answer());
  fakes::DownRegion region(64 + kWindowBytes, /*tokens_refused=*/1);
  GetOutcome outcome;
  start_get(outcome, std::chrono::steady_clock::now() + 10s, region);
  EXPECT_EQ(outcome.get().value(), Path::kRdma);
}

TEST_F(HttpObjectStoreTest, GivesUpOnAFabricThatStaysDownIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  fakes::DownRegion region(64 + kWindowBytes);
  GetOutcome outcome;
  start_get(outcome, std::chrono::steady_clock::now() + 10s, region);
  const auto result = outcome.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(result.error().late_write_possible) << "no token was ever given away";
  EXPECT_THAT(result.error().error.detail, HasSubstr("require"));
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(HttpObjectStoreTest, UsesRdmaBelowTheThresholdIfItIsRequired) {
  options_.rdma = {.mode = RdmaMode::kRequire, .threshold_bytes = 1 << 20};
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
}

// --- Versions and ranges ---

TEST_F(HttpObjectStoreTest, TellsThatTheVersionIsGone) {
  for (const auto& [status, code] :
       {std::pair{412U, "PreconditionFailed"}, {404U, "NoSuchKey"}, {416U, "InvalidRange"}}) {
    server_.then(error_answer(status, code));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get().error().error.code, ErrorCode::kStale);
}

TEST_F(HttpObjectStoreTest, TellsThatTheBucketIsGone) {
  server_.then(error_answer(404, "NoSuchBucket"));
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().error.detail, HasSubstr("bucket 'train' does not exist"));
}

TEST_F(HttpObjectStoreTest, NoticesAServerThatIgnoresIfMatch) {
  ScriptedAnswer answer = body_answer();
  answer.headers[0].second = "\"v2\"";
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kStale);
}

TEST_F(HttpObjectStoreTest, NoticesBytesOfAnotherRange) {
  ScriptedAnswer answer = body_answer();
  answer.headers[1].second = "bytes 0-4095/100000";
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

TEST_F(HttpObjectStoreTest, NoticesAServerThatIgnoresRange) {
  server_.then({.status = 200, .headers = {{"ETag", kEtag}}, .body = data_bytes()});
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

// --- Bodies of a wrong length ---

TEST_F(HttpObjectStoreTest, NeverWritesPastTheWindow) {
  options_.rdma.mode = RdmaMode::kOff;
  ScriptedAnswer answer = body_answer();
  answer.body = data_bytes(2 * kWindowBytes);
  server_.then(answer);
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kProtocol);
  EXPECT_FALSE(result.error().late_write_possible);
  EXPECT_TRUE(is_untouched_outside());
}

TEST_F(HttpObjectStoreTest, NeverWritesPastTheWindowOfATokenEither) {
  ScriptedAnswer answer = body_answer();
  answer.body = data_bytes(2 * kWindowBytes);
  server_.then(answer);
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kProtocol);
  EXPECT_TRUE(result.error().late_write_possible) << "the answer was broken off";
  EXPECT_TRUE(is_untouched_outside());
}

TEST_F(HttpObjectStoreTest, RefusesATooShortBody) {
  options_.rdma.mode = RdmaMode::kOff;
  ScriptedAnswer answer = body_answer();
  answer.body.pop_back();
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

// --- Faults and retries ---

TEST_F(HttpObjectStoreTest, TriesAgainAfterABodyThatBroke) {
  options_.rdma.mode = RdmaMode::kOff;
  ScriptedAnswer broken = body_answer();
  broken.announced_bytes = kWindowBytes;
  broken.body.resize(kWindowBytes / 2);
  server_.then(broken);
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(counted("s3_retries_total"), 1U);
  EXPECT_EQ(counted("s3_attempts_failed_total", R"(kind="Unreachable")"), 1U);
}

TEST_F(HttpObjectStoreTest, EndsATokenGetWhoseAnswerBroke) {
  ScriptedAnswer broken = body_answer();
  broken.announced_bytes = kWindowBytes;
  broken.body.resize(kWindowBytes / 2);
  server_.then(broken);
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_TRUE(result.error().late_write_possible);
  EXPECT_EQ(server_.seen().size(), 1U) << "not sent again into the same memory";
}

TEST_F(HttpObjectStoreTest, TriesAgainAfter503) {
  server_.then(error_answer(503, "SlowDown"));
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_TRUE(has_token(1)) << "503 says nothing about RDMA";
  EXPECT_EQ(counted("s3_attempts_failed_total", R"(kind="Throttled")"), 1U);
}

TEST_F(HttpObjectStoreTest, DropsTheTokenAfter500FromAServerThatNeverDidRdma) {
  server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("s3_retries_total"), 1U);
}

TEST_F(HttpObjectStoreTest, TriesAFailedTransferOnceMoreByTokenWhereRdmaHasWorked) {
  server_.then(rdma_answer());
  server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="transfer_failed")"), 0U);
}

TEST_F(HttpObjectStoreTest, GoesByHttpAfterTheSecondFailedTransfer) {
  server_.then(rdma_answer());
  for (int i = 0; i < 2; ++i) server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(body_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(has_token(2));
  EXPECT_FALSE(has_token(3));
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="transfer_failed")"), 1U);
}

TEST_F(HttpObjectStoreTest, GivesUpWhenAttemptsAreSpent) {
  server_.then(error_answer(503, "SlowDown"));
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kThrottled);
  EXPECT_THAT(result.error().error.detail, HasSubstr("4 of 4 attempts"));
  EXPECT_EQ(server_.seen().size(), 4U);
}

TEST_F(HttpObjectStoreTest, GivesUpAtOnceIfTheServerWantsToBeLeftAloneForLonger) {
  ScriptedAnswer answer = error_answer(503, "SlowDown");
  answer.headers.emplace_back("Retry-After", "60");
  server_.then(answer);
  EXPECT_EQ(list(1s).error().code, ErrorCode::kThrottled);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HttpObjectStoreTest, DoesNotTryAgainWhatIsForbidden) {
  server_.then(error_answer(403, "InvalidAccessKeyId"));
  EXPECT_EQ(list().error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HttpObjectStoreTest, StopsRetryingWhenTheBudgetIsSpent) {
  options_.retry.attempts_max = 1000;
  options_.retry.backoff_first = options_.retry.backoff_max = 0ms;
  server_.then(error_answer(503, "SlowDown"));
  const Result<ListPage> result = list(60s);
  EXPECT_EQ(result.error().code, ErrorCode::kThrottled);
  EXPECT_GE(counted("s3_retries_total"), 100U) << "the budget's capacity";
  EXPECT_LT(counted("s3_retries_total"), 999U);
  EXPECT_EQ(counted("s3_retries_refused_total"), 1U);
}

TEST_F(HttpObjectStoreTest, FailsIfNobodyListens) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};  // tcpmux: nobody has it
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(result.error().late_write_possible) << "the token never left";
  EXPECT_EQ(counted("s3_retries_total"), 3U);
}

TEST_F(HttpObjectStoreTest, DropsTheSessionsOfAServerThatRefusesAConnection) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  options_.retry.attempts_max = 1;
  EXPECT_FALSE(get());
  EXPECT_EQ(region_.session_drops(), 1);
  EXPECT_EQ(region_.fate_when_dropped(), std::nullopt)
      << "the refused request's own session comes back later, and so is dropped too";
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kUnsent);
}

TEST_F(HttpObjectStoreTest, DropsTheSessionsOfAServerThatAnotherKindOfRequestCouldNotReach) {
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  options_.retry.attempts_max = 1;
  EXPECT_FALSE(list());
  EXPECT_EQ(region_.session_drops(), 0) << "only a transfer knows where there are any";
  EXPECT_FALSE(get());
  EXPECT_EQ(region_.session_drops(), 2)
      << "before it takes a token, and once it was refused itself";
}

// The control of both.
TEST_F(HttpObjectStoreTest, KeepsTheSessionsOfAServerThatAnswers) {
  server_.then(error_answer(503, "SlowDown"));
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  EXPECT_EQ(region_.session_drops(), 0);
}

// --- A kept-alive connection that dies under a request ---

TEST_F(HttpObjectStoreTest, NeverSendsATokenTwiceBehindOurBack) {
  options_.http.event_threads = 1;
  server_.then(rdma_answer());
  server_.then({.cut = true});
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  const auto result = get();  // on the same connection, which libcurl would replace on its own
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().late_write_possible);
  EXPECT_EQ(server_.seen().size(), 2U);
}

// The control: without a token that is what happens, unseen.
TEST_F(HttpObjectStoreTest, LetsAPlainRequestBeSentAgainOnANewConnection) {
  options_.http.event_threads = 1;
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(body_answer());
  server_.then({.cut = true});
  server_.then(body_answer());
  ASSERT_TRUE(get());
  ASSERT_TRUE(get());
  EXPECT_EQ(server_.seen().size(), 3U);
  EXPECT_EQ(counted("s3_retries_total"), 0U);
}

// --- Deadlines ---

TEST_F(HttpObjectStoreTest, EndsATokenGetAtItsDeadline) {
  server_.then({.hold = true});
  const auto result = get(200ms);
  EXPECT_EQ(result.error().error.code, ErrorCode::kTimedOut);
  EXPECT_TRUE(result.error().late_write_possible);
}

TEST_F(HttpObjectStoreTest, EndsAPlainGetAtItsDeadline) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then({.hold = true});
  const auto result = get(200ms);
  EXPECT_EQ(result.error().error.code, ErrorCode::kTimedOut);
  EXPECT_FALSE(result.error().late_write_possible);
}

TEST_F(HttpObjectStoreTest, TriesAgainWhenOneAttemptTookTooLong) {
  options_.rdma.mode = RdmaMode::kOff;
  options_.http.connect_timeout = 100ms;
  options_.http.request_timeout = 100ms;
  server_.then({.hold = true});
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(HttpObjectStoreTest, EndsWhatWaitsInLineAtItsDeadline) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  ScriptedAnswer late = rdma_answer();
  late.hold = true;
  server_.then(late);
  server_.then(rdma_answer());
  const auto now = std::chrono::steady_clock::now();
  GetOutcome busy;
  start_get(busy, now + 10s, region_);
  ASSERT_TRUE(server_.wait_for_requests(1));
  const auto result = get(200ms);
  EXPECT_EQ(result.error().error.code, ErrorCode::kTimedOut);
  EXPECT_FALSE(result.error().late_write_possible) << "it was never sent";
  EXPECT_FALSE(busy.is_there());

  GetOutcome next;
  start_get(next, now + 10s, region_);
  server_.release();
  EXPECT_TRUE(busy.wait());
  EXPECT_EQ(next.get().value(), Path::kRdma) << "and the line moves on";
  EXPECT_EQ(server_.seen().size(), 2U);
}

// --- HEAD and LIST ---

TEST_F(HttpObjectStoreTest, ReadsHead) {
  server_.then({.headers = {{"ETag", kEtag}, {"Last-Modified", "Wed, 12 Oct 2009 17:50:00 GMT"}},
                .body = data_bytes(77)});
  const Result<ObjectInfo> info = head();
  ASSERT_TRUE(info) << info.error().detail;
  EXPECT_EQ(info->key, "a/b c");
  EXPECT_EQ(info->etag, kEtag);
  EXPECT_EQ(info->size_bytes, 77U);
  EXPECT_EQ(server_.seen().at(0).method, "HEAD");
}

TEST_F(HttpObjectStoreTest, TellsHeadThatNothingIsThere) {
  server_.then({.status = 404});
  EXPECT_EQ(head().error().code, ErrorCode::kNotFound);
}

TEST_F(HttpObjectStoreTest, RefusesHeadWithoutAVersion) {
  server_.then({.body = "x"});
  EXPECT_EQ(head().error().code, ErrorCode::kProtocol);
}

TEST_F(HttpObjectStoreTest, RefusesAnswersWhoseHeadersCouldNotBeSentBack) {
  const std::string too_long = "\"" + std::string(1024, 'e') + "\"";
  for (const std::string& etag : {std::string("\"a\x01z\""), too_long}) {
    server_.then({.headers = {{"ETag", etag}}, .body = "x"});
  }
  server_.then({.headers = {{"ETag", too_long.substr(2)}}, .body = "x"});
  for (int i = 0; i < 2; ++i) {
    const Result<ObjectInfo> info = head();
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(info.error().detail, HasSubstr("'ETag'"));
  }
  EXPECT_TRUE(head()) << "the control: 1 KiB";
}

TEST_F(HttpObjectStoreTest, TakesAHeaderThatIsTooLongForAProtocolError) {
  server_.then({.headers = {{"ETag", "\"v\""}, {"X-Long", std::string(400'000, 'x')}}});
  EXPECT_EQ(head().error().code, ErrorCode::kProtocol) << "this process lacks no memory";
}

TEST_F(HttpObjectStoreTest, RefusesGarbageForAListing) {
  server_.then({.body = "<ListBucketResult><Contents>"});
  EXPECT_EQ(list().error().code, ErrorCode::kProtocol);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HttpObjectStoreTest, ChecksTheBucketByAListingOfOneKey) {
  server_.then({.body = "<ListBucketResult></ListBucketResult>"});
  server_.then(error_answer(404, "NoSuchBucket"));
  for (const bool is_there : {true, false}) {
    Outcome<Result<void>> outcome;
    check_bucket(store(), "p/", std::chrono::steady_clock::now() + 10s, outcome.done());
    EXPECT_EQ(outcome.get().has_value(), is_there);
  }
}

// --- Rails ---

// Two rails as tokens name them: the requests come from 127.0.0.1 and 127.0.0.2 in turn.
TEST_F(HttpObjectStoreTest, SendsARequestFromTheAddressItsTokenNames) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;  // one easy handle, which both rails take turns with
  server_.then(rdma_answer());
  for (const char* rail : {"127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"}) {
    region_.set_source_address(rail);
    ASSERT_EQ(get().value(), Path::kRdma);
    EXPECT_EQ(server_.seen().back().client_address, rail);
  }
}

TEST_F(HttpObjectStoreTest, KeepsTheConnectionsOfEveryRailOpen) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  server_.then(rdma_answer());
  std::map<std::string, std::set<std::uint16_t>> ports;
  for (int round = 0; round < 5; ++round) {
    for (const char* rail : {"127.0.0.1", "127.0.0.2"}) {
      region_.set_source_address(rail);
      ASSERT_EQ(get().value(), Path::kRdma);
      ports[rail].insert(server_.seen().back().client_port);
    }
  }
  EXPECT_EQ(ports["127.0.0.1"].size(), 1U) << "no new connection a request";
  EXPECT_EQ(ports["127.0.0.2"].size(), 1U);
}

TEST_F(HttpObjectStoreTest, HasReachedNoServerWhereNoAddressHasAWayToOne) {
  region_.set_source_address("192.0.2.1");  // not this host's
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  const auto outcome = get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(outcome.error().late_write_possible);
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kUnsent);
  EXPECT_TRUE(server_.seen().empty());
}

// --- The end ---

TEST_F(HttpObjectStoreTest, EndsEverythingWhenShutDown) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  server_.then({.hold = true});
  GetOutcome on_the_wire;
  GetOutcome in_line;
  start_get(on_the_wire, std::chrono::steady_clock::now() + 1h, region_);
  ASSERT_TRUE(server_.wait_for_requests(1));
  start_get(in_line, std::chrono::steady_clock::now() + 1h, region_);
  store().shut_down();
  ASSERT_TRUE(on_the_wire.is_there()) << "no callback is left when it returns";
  ASSERT_TRUE(in_line.is_there());
  const GetFailure sent = on_the_wire.get().error();
  EXPECT_EQ(sent.error.code, ErrorCode::kCancelled);
  EXPECT_TRUE(sent.late_write_possible);
  const GetFailure unsent = in_line.get().error();
  EXPECT_EQ(unsent.error.code, ErrorCode::kCancelled);
  EXPECT_FALSE(unsent.late_write_possible);
  EXPECT_EQ(head().error().code, ErrorCode::kCancelled) << "and later ones end at once";
  EXPECT_EQ(metrics_.gauge("s3_operations_in_flight", "").value(), 0);
}

TEST_F(HttpObjectStoreTest, EndsWhatWaitsForARetryWhenShutDown) {
  options_.retry.backoff_first = options_.retry.backoff_max = 1h;
  ScriptedAnswer answer = error_answer(503, "SlowDown");
  answer.headers.emplace_back("Retry-After", "3600");
  server_.then(answer);
  Outcome<Result<ObjectInfo>> outcome;
  store().head("k", std::chrono::steady_clock::now() + 10h, outcome.done());
  // The answer is out before it is taken in: whichever is first, the result is the same.
  ASSERT_TRUE(server_.wait_for_requests(1));
  store().shut_down();
  ASSERT_TRUE(outcome.is_there());
  EXPECT_EQ(outcome.get().error().code, ErrorCode::kCancelled);
}

TEST_F(HttpObjectStoreTest, ServesManyAtOnceOverFewConnections) {
  options_.http.connections_max = 3;
  server_.then(rdma_answer());
  std::vector<std::unique_ptr<GetOutcome>> outcomes;
  for (int i = 0; i < 200; ++i) {
    outcomes.push_back(std::make_unique<GetOutcome>());
    start_get(*outcomes.back(), std::chrono::steady_clock::now() + 10s, region_);
  }
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome->get().value(), Path::kRdma);
  EXPECT_EQ(metrics_.gauge("s3_operations_in_flight", "").value(), 0);
}

}  // namespace
}  // namespace s3rdmafs::s3
