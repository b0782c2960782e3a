// SPDX-License-Identifier: Apache-2.0
// The whole client against two servers of one store, of which one is dead, slow or without RDMA.
#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "fakes/rdma/fake_region.h"
#include "rdma/null_fabric.h"
#include "s3rdmafs/base/checksum.h"
#include "store_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::ScriptedAnswer;
using fakes::ScriptedHttpServer;

// Enough to learn a bound from, and to have saved up a share for one read.
constexpr int kManyReads = 100;

ScriptedAnswer letters(char letter) { return sent_by_http(std::string(kWindowBytes, letter)); }

/// Fits each request of a PUT and of the probe before it, since any server may be asked
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

class SeveralEndpointsTest : public TwoServersTest {
 protected:
  SeveralEndpointsTest() { options_.rdma.mode = RdmaMode::kOff; }

  Got get(bool can_restart = false) { return get_into(window_of(region_), can_restart); }
  PutOutcome put() {
    const PutBody body{.window = window_of(region_), .crc64nvme = crc64nvme(0, region_.bytes())};
    Outcome<PutOutcome> outcome;
    store().put("key", body, {}, soon(), outcome.done());
    return outcome.get();
  }

  void read_many() {
    for (int i = 0; i < kManyReads; ++i) ASSERT_TRUE(get());
  }

  std::uint64_t requests_to(const std::string& url) {
    return counted("endpoint_requests_total", of_endpoint(url));
  }
  std::uint64_t given_up_by(const std::string& url) {
    return counted("endpoint_reads_given_up_total", of_endpoint(url));
  }
  std::uint64_t given_up() { return given_up_by(a_url_) + given_up_by(b_url_); }
  static std::size_t tokens_at(const ScriptedHttpServer& server) {
    const auto seen = server.seen();
    return static_cast<std::size_t>(std::ranges::count_if(seen, has_token));
  }
  static std::size_t whole_puts_at(const ScriptedHttpServer& server) {
    const auto seen = server.seen();
    return static_cast<std::size_t>(std::ranges::count_if(seen, [](const auto& request) {
      return request.method == "PUT" && request.query.empty();
    }));
  }

  fakes::FakeRegion region_{kWindowBytes};
};

TEST_F(SeveralEndpointsTest, ShareTheRequests) {
  a_->then(letters('a'));
  b_->then(letters('b'));
  read_many();
  EXPECT_EQ(a_->seen().size(), kManyReads / 2U);
  EXPECT_EQ(b_->seen().size(), kManyReads / 2U);
  EXPECT_EQ(requests_to(a_url_), kManyReads / 2U);
}

TEST_F(SeveralEndpointsTest, GoOnWithoutAnErrorOrARetryWhereOneIsDead) {
  a_->then(letters('a'));
  b_.reset();
  options_.retry.attempts_max = 1;
  read_many();
  EXPECT_EQ(a_->seen().size(), static_cast<std::size_t>(kManyReads));
  EXPECT_FALSE(is_alive(b_url_));
  EXPECT_EQ(counted("s3_retries_total"), 0U);
  EXPECT_LT(requests_to(b_url_), 10U) << "asked now and then only";
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
  b_->then(letters('b'));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(get());
  EXPECT_LE(a_->seen().size(), EndpointSet::kFailuresMax) << "then it is left out";
}

TEST_F(SeveralEndpointsTest, DoRdmaWithOneWhereTheOtherDoesNone) {
  options_.rdma.mode = RdmaMode::kPrefer;
  a_->then(sent_by_rdma());
  b_->then(letters('b'));
  read_many();
  EXPECT_EQ(tokens_at(*a_), kManyReads / 2U);
  EXPECT_EQ(tokens_at(*b_), 1U) << "it was asked once";
}

TEST_F(SeveralEndpointsTest, ReadByRdmaWhereItIsRequiredAndOneDoesNone) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then(sent_by_rdma());
  b_->then(letters('b'));
  read_many();
  EXPECT_EQ(tokens_at(*a_), static_cast<std::size_t>(kManyReads));
  EXPECT_EQ(b_->seen().size(), 1U) << "it was asked once";
  EXPECT_EQ(requests_to(b_url_), 1U);
}

TEST_F(SeveralEndpointsTest, ReadByRdmaWhereItIsRequiredAndThereIsNoFabricToOne) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then({.status = 503});
  a_->then(sent_by_rdma());
  HalfRegion region;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get_into(window_of(region)).value(), Path::kRdma);
  EXPECT_EQ(b_->seen().size(), 0U);
}

// The control of both.
TEST_F(SeveralEndpointsTest, FailWhereRdmaIsRequiredAndNoneDoesIt) {
  options_.rdma.mode = RdmaMode::kRequire;
  a_->then(letters('a'));
  b_->then(letters('b'));
  for (int i = 0; i < 10; ++i) {
    const Got ended = get();
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
  a_->then(sent_by_rdma());
  a_->then({.status = 503});
  b_->then(letters('b'));
  const Got ended = get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().error.code, ErrorCode::kCorrupt);
  EXPECT_NE(ended.error().error.detail.find(a_url_), std::string::npos);
  EXPECT_EQ(b_->seen().size(), 1U) << "where it was compared";
}

TEST_F(SeveralEndpointsTest, GiveAReadUpThatOneIsSlowWithAndTakeTheOthersBytes) {
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(letters('a'));
  a_->then(held(letters('a')));
  b_->then(letters('b'));
  read_many();
  ASSERT_EQ(given_up(), 0U);
  for (int i = 0; i < 2; ++i) {  // one of the two goes to the slow one
    EXPECT_EQ(get().value(), Path::kHttp);
    EXPECT_EQ(region_.bytes().front(), std::byte{'b'});
  }
  EXPECT_EQ(given_up(), 1U);
  EXPECT_EQ(given_up_by(a_url_), 1U);
  a_->release();
}

// The control of the one above.
TEST_F(SeveralEndpointsTest, WaitForASlowOneWhereHedgingIsSwitchedOff) {
  options_.endpoint.hedge = false;
  options_.http.request_timeout = 500ms;
  options_.http.connect_timeout = 500ms;
  options_.retry.attempts_max = 1;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(letters('a'));
  a_->then(held(letters('a')));
  b_->then(letters('b'));
  read_many();
  const bool both = get().has_value() && get().has_value();
  EXPECT_FALSE(both);
  EXPECT_EQ(given_up(), 0U);
  a_->release();
}

TEST_F(SeveralEndpointsTest, NeverUseMemoryAgainThatASlowOneMayStillWriteTo) {
  options_.rdma.mode = RdmaMode::kRequire;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(sent_by_rdma());
  a_->then(held(sent_by_rdma()));
  b_->then(sent_by_rdma());
  read_many();
  int slow = 0;
  for (int i = 0; i < 2; ++i) {
    const Got ended = get(/*can_restart=*/true);
    if (ended) continue;
    ++slow;
    EXPECT_TRUE(ended.error().late_write_possible);
    EXPECT_TRUE(ended.error().was_hedged);
    EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kGivenUp);
  }
  EXPECT_EQ(slow, 1) << "the caller reads again, elsewhere";
  EXPECT_EQ(given_up(), 1U);
  a_->release();
}

TEST_F(SeveralEndpointsTest, GiveNothingUpThatTheCallerCouldNotReadAgain) {
  options_.rdma.mode = RdmaMode::kRequire;
  options_.rdma.transfer_timeout = 500ms;
  options_.http.connect_timeout = 500ms;
  for (int i = 0; i < kManyReads / 2; ++i) a_->then(sent_by_rdma());
  a_->then(held(sent_by_rdma()));
  b_->then(sent_by_rdma());
  read_many();
  const bool both = get().has_value() && get().has_value();
  EXPECT_FALSE(both);
  EXPECT_EQ(given_up(), 0U);
  a_->release();
}

}  // namespace
}  // namespace s3rdmafs::s3
