// SPDX-License-Identifier: Apache-2.0
// The whole client against two servers of one store, of which one is dead, slow or without RDMA.
#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "fakes/rdma/fake_region.h"
#include "fakes/s3/scripted_http_server.h"
#include "rdma/null_fabric.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/checksum.h"
#include "window.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::ScriptedAnswer;
using fakes::ScriptedHttpServer;
using Ended = std::expected<Path, GetFailure>;

constexpr const char* kEtag = "\"v1\"";
// Enough to learn a bound from, and to have saved up a share for one read.
constexpr int kManyReads = 100;

ScriptedAnswer body_answer(char letter) {
  return {.status = 206,
          .headers = {{"ETag", kEtag}, {"Content-Range", "bytes 0-4095/100000"}},
          .body = std::string(kWindowBytes, letter)};
}

ScriptedAnswer rdma_answer() {
  return {.status = 206,
          .headers = {{"ETag", kEtag},
                      {"Content-Range", "bytes 0-4095/100000"},
                      {"x-amz-rdma-reply", "206"},
                      {"x-amz-rdma-bytes-transferred", "4096"}}};
}

ScriptedAnswer held(ScriptedAnswer answer) {
  answer.hold = true;
  return answer;
}

/// Good for each request of a PUT, the probe before it included: nobody says which server is asked
/// to remove the probe.
ScriptedAnswer put_answer(bool by_rdma) {
  ScriptedAnswer answer{.headers = {{"ETag", kEtag}},
                        .body =
                            "<InitiateMultipartUploadResult><UploadId>up</UploadId>"
                            "</InitiateMultipartUploadResult>"};
  if (by_rdma) {
    answer.headers.emplace_back("x-amz-rdma-reply", "200");
    answer.headers.emplace_back("x-amz-rdma-bytes-transferred", "4096");
  }
  return answer;
}

/// Memory that the second server has no fabric to.
class HalfRegion final : public rdma::MemoryRegion {
 public:
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return good_.bytes(); }
  void token(std::size_t offset, std::size_t length, Deadline deadline,
             Done<rdma::Token> done) override {
    good_.token(offset, length, deadline, std::move(done));
  }
  [[nodiscard]] rdma::MemoryRegion& for_endpoint(std::size_t endpoint) noexcept override {
    return endpoint == 1 ? *none_ : static_cast<rdma::MemoryRegion&>(good_);
  }
  [[nodiscard]] Result<void> fence() override { return good_.fence(); }

 private:
  fakes::FakeRegion good_{kWindowBytes};
  std::unique_ptr<rdma::Fabric> no_fabric_ = rdma::make_null_fabric();
  std::unique_ptr<rdma::MemoryRegion> none_ =
      no_fabric_
          ->register_memory({.fd = -1, .offset_bytes = 0, .bytes = good_.bytes()},
                            rdma::Access::kRemoteWrite)
          .value();
};

class SeveralEndpointsTest : public ::testing::Test {
 protected:
  SeveralEndpointsTest() {
    options_.bucket = "train";
    options_.endpoint.urls = {a_->url(), b_->url()};
    options_.endpoint.region = "us-east-1";
    options_.rdma = {.mode = RdmaMode::kOff, .threshold_bytes = 0};
    options_.http = {
        .event_threads = 1, .connections_max = 8, .connect_timeout = 5s, .request_timeout = 20s};
    options_.retry = {.attempts_max = 4, .backoff_first = 1ms, .backoff_max = 5ms};
  }

  HttpObjectStore& store() {
    if (!store_) store_.emplace(options_, credentials_, clock_, metrics_);
    return *store_;
  }

  Ended get(bool can_restart = false) { return get_into(region_, can_restart); }
  Ended get_into(rdma::MemoryRegion& region, bool can_restart = false) {
    std::promise<Ended> promise;
    auto future = promise.get_future();
    store().get({.key = "key",
                 .etag = kEtag,
                 .window = {.region = &region, .offset = 0, .length = kWindowBytes},
                 .can_restart = can_restart},
                clock_.now() + 20s,
                [&promise](Ended ended) { promise.set_value(std::move(ended)); });
    return future.get();  // bounded by the deadline
  }

  PutOutcome put() {
    std::promise<PutOutcome> promise;
    const PutBody body{.window = {.region = &region_, .offset = 0, .length = kWindowBytes},
                       .crc64nvme = crc64nvme(0, region_.bytes())};
    store().put("key", body, false, clock_.now() + 20s,
                [&promise](PutOutcome outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();  // bounded by the deadline
  }

  void read_many() {
    for (int i = 0; i < kManyReads; ++i) ASSERT_TRUE(get());
  }

  std::uint64_t counted(const std::string& name, const std::string& url) {
    return metrics_.counter(name, "", "endpoint=\"" + url + "\"").value();
  }
  std::uint64_t given_up() {
    return counted("endpoint_reads_given_up_total", a_url_) +
           counted("endpoint_reads_given_up_total", b_url_);
  }
  static std::size_t tokens_at(const ScriptedHttpServer& server) {
    std::size_t tokens = 0;
    for (const auto& request : server.seen()) {
      tokens += request.headers.contains("x-amz-rdma-token") ? 1 : 0;
    }
    return tokens;
  }

  static std::size_t whole_puts_at(const ScriptedHttpServer& server) {
    std::size_t puts = 0;
    for (const auto& request : server.seen()) {
      puts += request.method == "PUT" && request.query.empty() ? 1 : 0;
    }
    return puts;
  }

  std::optional<ScriptedHttpServer> a_{std::in_place}, b_{std::in_place};
  const std::string a_url_ = a_->url(), b_url_ = b_->url();
  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  HttpObjectStore::Options options_;
  fakes::FakeRegion region_{kWindowBytes};
  std::optional<HttpObjectStore> store_;  // last: gone before what it borrows
};

TEST_F(SeveralEndpointsTest, ShareTheRequests) {
  a_->then(body_answer('a'));
  b_->then(body_answer('b'));
  read_many();
  EXPECT_EQ(a_->seen().size(), kManyReads / 2U);
  EXPECT_EQ(b_->seen().size(), kManyReads / 2U);
  EXPECT_EQ(counted("endpoint_requests_total", a_url_), kManyReads / 2U);
}

TEST_F(SeveralEndpointsTest, GoOnWithoutAnErrorOrARetryWhereOneIsDead) {
  a_->then(body_answer('a'));
  b_.reset();
  options_.retry.attempts_max = 1;
  read_many();
  EXPECT_EQ(a_->seen().size(), static_cast<std::size_t>(kManyReads));
  EXPECT_EQ(metrics_.gauge("endpoint_alive", "", "endpoint=\"" + b_url_ + "\"").value(), 0);
  EXPECT_EQ(metrics_.counter("s3_retries_total", "").value(), 0U);
  EXPECT_LT(counted("endpoint_requests_total", b_url_), 10U) << "asked now and then only";
}

// The control: with one attempt and one endpoint a dead server is an error.
TEST_F(SeveralEndpointsTest, FailWhereThereIsNoOther) {
  options_.endpoint.urls = {b_url_};
  b_.reset();
  options_.retry.attempts_max = 1;
  EXPECT_FALSE(get());
}

TEST_F(SeveralEndpointsTest, TakeARetryElsewhere) {
  a_->then({.status = 500});
  b_->then(body_answer('b'));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(get());
  EXPECT_LE(a_->seen().size(), EndpointSet::kFailuresMax) << "then it is left out";
}

TEST_F(SeveralEndpointsTest, DoRdmaWithOneWhereTheOtherDoesNone) {
  options_.rdma.mode = RdmaMode::kPrefer;
  a_->then(rdma_answer());
  b_->then(body_answer('b'));
  read_many();
  EXPECT_EQ(tokens_at(*a_), kManyReads / 2U);
  EXPECT_EQ(tokens_at(*b_), 1U) << "it was asked once";
}

TEST_F(SeveralEndpointsTest, ReadByRdmaWhereItIsRequiredAndOneDoesNone) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then(rdma_answer());
  b_->then(body_answer('b'));
  read_many();
  EXPECT_EQ(tokens_at(*a_), static_cast<std::size_t>(kManyReads));
  EXPECT_EQ(b_->seen().size(), 1U) << "it was asked once";
  EXPECT_EQ(counted("endpoint_requests_total", b_url_), 1U);
}

TEST_F(SeveralEndpointsTest, ReadByRdmaWhereItIsRequiredAndThereIsNoFabricToOne) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then({.status = 503});
  a_->then(rdma_answer());
  HalfRegion region;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get_into(region).value(), Path::kRdma);
  EXPECT_EQ(b_->seen().size(), 0U);
}

// The control of both.
TEST_F(SeveralEndpointsTest, FailWhereRdmaIsRequiredAndNoneDoesIt) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then(body_answer('a'));
  b_->then(body_answer('b'));
  for (int i = 0; i < 10; ++i) {
    const Ended ended = get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().error.code, ErrorCode::kUnsupported);
  }
  EXPECT_EQ(a_->seen().size(), 1U);
  EXPECT_EQ(b_->seen().size(), 1U);
}

TEST_F(SeveralEndpointsTest, StoreAnObjectOnceWhereRdmaIsRequiredAndOneDoesNone) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then(put_answer(/*by_rdma=*/true));
  b_->then(put_answer(/*by_rdma=*/false));
  for (int i = 0; i < 10; ++i) {
    const PutOutcome outcome = put();
    ASSERT_TRUE(outcome.etag) << outcome.etag.error().detail;
    EXPECT_EQ(outcome.path, Path::kRdma);
  }
  EXPECT_EQ(whole_puts_at(*a_), 10U);
  EXPECT_EQ(whole_puts_at(*b_), 0U);
}

TEST_F(SeveralEndpointsTest, NameTheOneWhoseBytesAreWrongNotTheOneTheyWereComparedWith) {
  options_.rdma.mode = RdmaMode::kRequire;
  options_.rdma.verify = Verify::kAlways;
  a_->then(rdma_answer());
  a_->then({.status = 503});
  b_->then(body_answer('b'));
  const Ended ended = get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().error.code, ErrorCode::kCorrupt);
  EXPECT_NE(ended.error().error.detail.find(a_url_), std::string::npos);
  EXPECT_EQ(b_->seen().size(), 1U) << "where it was compared";
}

TEST_F(SeveralEndpointsTest, GiveAReadUpThatOneIsSlowWithAndTakeTheOthersBytes) {
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(body_answer('a'));
  a_->then(held(body_answer('a')));
  b_->then(body_answer('b'));
  read_many();
  ASSERT_EQ(given_up(), 0U);
  for (int i = 0; i < 2; ++i) {  // one of the two goes to the slow one
    EXPECT_EQ(get().value(), Path::kHttp);
    EXPECT_EQ(region_.bytes().front(), std::byte{'b'});
  }
  EXPECT_EQ(given_up(), 1U);
  EXPECT_EQ(counted("endpoint_reads_given_up_total", a_url_), 1U);
  a_->release();
}

// The control of the one above.
TEST_F(SeveralEndpointsTest, WaitForASlowOneWhereHedgingIsSwitchedOff) {
  options_.endpoint.hedge = false;
  options_.http.request_timeout = 500ms;
  options_.http.connect_timeout = 500ms;
  options_.retry.attempts_max = 1;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(body_answer('a'));
  a_->then(held(body_answer('a')));
  b_->then(body_answer('b'));
  read_many();
  const bool both = get().has_value() && get().has_value();
  EXPECT_FALSE(both);
  EXPECT_EQ(given_up(), 0U);
  a_->release();
}

TEST_F(SeveralEndpointsTest, NeverUseMemoryAgainThatASlowOneMayStillWriteTo) {
  options_.rdma.mode = RdmaMode::kRequire;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(rdma_answer());
  a_->then(held(rdma_answer()));
  b_->then(rdma_answer());
  read_many();
  int slow = 0;
  for (int i = 0; i < 2; ++i) {
    const Ended ended = get(/*can_restart=*/true);
    if (ended) continue;
    ++slow;
    EXPECT_TRUE(ended.error().late_write_possible);
    EXPECT_TRUE(ended.error().was_hedged);
    EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kGivenUp);
  }
  EXPECT_EQ(slow, 1) << "it is the caller who reads again, elsewhere";
  EXPECT_EQ(given_up(), 1U);
  a_->release();
}

TEST_F(SeveralEndpointsTest, GiveNothingUpThatTheCallerCouldNotReadAgain) {
  options_.rdma.mode = RdmaMode::kRequire;
  options_.rdma.transfer_timeout = 500ms;
  options_.http.connect_timeout = 500ms;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(rdma_answer());
  a_->then(held(rdma_answer()));
  b_->then(rdma_answer());
  read_many();
  const bool both = get().has_value() && get().has_value();
  EXPECT_FALSE(both);
  EXPECT_EQ(given_up(), 0U);
  a_->release();
}

}  // namespace
}  // namespace s3rdmafs::s3
