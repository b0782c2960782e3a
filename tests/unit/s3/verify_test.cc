// SPDX-License-Identifier: Apache-2.0
// rdma.verify, and what a mount file can say about a server's headers.
#include <algorithm>
#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/fake_region.h"
#include "fakes/s3/scripted_http_server.h"
#include "s3/http_object_store.h"
#include "s3/wire/object_checksum.h"
#include "s3rdmafs/base/checksum.h"
#include "window.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::ScriptedAnswer;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    options_.bucket = "train";
    options_.endpoint = {.urls = {server_.url()}, .region = "us-east-1"};
    options_.rdma = {.threshold_bytes = 1024, .verify = Verify::kAlways};
    options_.http = {
        .event_threads = 1, .connections_max = 8, .connect_timeout = 2s, .request_timeout = 5s};
    options_.retry = {.attempts_max = 4, .backoff_first = 1ms, .backoff_max = 5ms};
    // What a server wrote by RDMA: it is there before the answer comes.
    std::ranges::fill(region_.bytes(), std::byte{'r'});
  }

  std::expected<Path, GetFailure> get(std::uint64_t offset = 0) {
    if (!store_) store_.emplace(options_, credentials_, clock_, metrics_);
    std::promise<std::expected<Path, GetFailure>> promise;
    store_->get({.key = "k",
                 .etag = "\"v1\"",
                 .offset_bytes = offset,
                 .window = {.region = &region_, .offset = 0, .length = kWindowBytes}},
                std::chrono::steady_clock::now() + 10s,
                [&](auto result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  /// Done by RDMA, of an object of `total_bytes`.
  static ScriptedAnswer done(std::size_t total_bytes, const std::string& checksum = "") {
    ScriptedAnswer answer{
        .status = 206,
        .headers = {{"ETag", "\"v1\""},
                    {"Content-Range", "bytes 0-4095/" + std::to_string(total_bytes)},
                    {"x-amz-rdma-reply", "206"},
                    {"x-amz-rdma-bytes-transferred", "4096"}}};
    if (!checksum.empty()) answer.headers.emplace_back("x-amz-checksum-crc64nvme", checksum);
    return answer;
  }
  static ScriptedAnswer body(char fill) {
    return {.status = 206,
            .headers = {{"ETag", "\"v1\""}, {"Content-Range", "bytes 0-4095/9999"}},
            .body = std::string(kWindowBytes, fill)};
  }
  bool window_is(char fill) const {
    return std::ranges::all_of(region_.bytes(),
                               [&](std::byte b) { return b == static_cast<std::byte>(fill); });
  }
  bool has_token(std::size_t request) {
    return server_.seen().at(request).headers.contains("x-amz-rdma-token");
  }
  std::uint64_t counted(const std::string& name, const std::string& labels = {}) {
    return metrics_.counter(name, "", labels).value();
  }

  fakes::ScriptedHttpServer server_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  HttpObjectStore::Options options_;
  fakes::FakeRegion region_{kWindowBytes};
  std::optional<HttpObjectStore> store_;  // last: gone before what it borrows
};

TEST_F(VerifyTest, ComparesAWholeObjectWithItsOwnChecksum) {
  server_.then(done(kWindowBytes, checksum_text(crc64nvme(0, region_.bytes()))));
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_EQ(server_.seen().at(0).headers.at("x-amz-checksum-mode"), "ENABLED");
  EXPECT_EQ(counted("rdma_verifications_total"), 1U);
  EXPECT_EQ(counted("rdma_verify_failures_total"), 0U);
}

TEST_F(VerifyTest, ReadsAWholeObjectAgainWhoseChecksumIsAnother) {
  server_.then(done(kWindowBytes, "AAAAAAAAAAA="));
  server_.then(body('h'));
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(window_is('h'));
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("rdma_verify_failures_total"), 1U);
  EXPECT_EQ(counted("rdma_fallbacks_total", R"(reason="verify_failed")"), 1U);
  EXPECT_TRUE(get());
  EXPECT_FALSE(has_token(2)) << "the endpoint is not trusted for a while";
}

TEST_F(VerifyTest, ComparesAPartWithASecondReadByHttp) {
  server_.then(done(9999));
  server_.then(body('r'));
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_EQ(server_.seen().size(), 2U);
  EXPECT_TRUE(has_token(0));
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("rdma_verify_failures_total"), 0U);
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), 0U) << "nobody read those";
}

TEST_F(VerifyTest, TakesTheSecondReadWhereItDiffers) {
  server_.then(done(9999));
  server_.then(body('h'));
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(window_is('h'));
  EXPECT_EQ(counted("rdma_verify_failures_total"), 1U);
}

TEST_F(VerifyTest, RefusesWrongBytesIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(done(9999));
  server_.then(body('h'));
  const auto result = get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, ErrorCode::kCorrupt);
}

TEST_F(VerifyTest, FailsWhatCannotBeCompared) {
  server_.then(done(9999));
  server_.then({.status = 403, .body = "<Error><Code>AccessDenied</Code></Error>"});
  EXPECT_EQ(get().error().error.code, ErrorCode::kAccessDenied);
}

TEST_F(VerifyTest, ComparesNothingIfSwitchedOff) {
  options_.rdma.verify = Verify::kOff;
  server_.then(done(kWindowBytes, "AAAAAAAAAAA="));
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_FALSE(server_.seen().at(0).headers.contains("x-amz-checksum-mode"));
}

TEST(VerifySampler, TakesTheFirstOnesAndFewAfterwards) {
  VerifySampler sampler(Verify::kSample);
  unsigned verified = 0;
  for (unsigned i = 0; i < VerifySampler::kFirst; ++i) verified += sampler.should_verify() ? 1 : 0;
  EXPECT_EQ(verified, VerifySampler::kFirst);
  verified = 0;
  for (unsigned i = 0; i < 4 * VerifySampler::kEvery; ++i) {
    verified += sampler.should_verify() ? 1 : 0;
  }
  EXPECT_EQ(verified, 4U);
  sampler.start_over();
  EXPECT_TRUE(sampler.should_verify());
}

// --- A server's own headers ---

TEST_F(VerifyTest, UsesTheNamesOfHeadersThatTheMountFileGives) {
  options_.rdma.verify = Verify::kOff;
  options_.rdma.token_header = "x-rdma-info";
  options_.rdma.reply_header = "x-rdma-result";
  options_.rdma.bytes_header = "x-rdma-count";
  ScriptedAnswer answer = done(9999);
  answer.headers.at(2).first = "X-Rdma-Result";
  answer.headers.at(3).first = "X-Rdma-Count";
  server_.then(answer);
  EXPECT_EQ(get().value(), Path::kRdma);
  EXPECT_TRUE(server_.seen().at(0).headers.contains("x-rdma-info"));
  EXPECT_FALSE(has_token(0));
}

TEST_F(VerifyTest, ReadsAgainWhatCameWithoutACount) {
  options_.rdma.verify = Verify::kOff;
  ScriptedAnswer answer = done(9999);
  answer.headers.pop_back();
  server_.then(answer);
  server_.then(body('h'));
  EXPECT_EQ(get().value(), Path::kHttp);
}

TEST_F(VerifyTest, TakesAnAnswerWithoutACountIfTheMountFileSaysSo) {
  options_.rdma.verify = Verify::kOff;
  options_.rdma.byte_count = ByteCount::kOptional;
  ScriptedAnswer answer = done(9999);
  answer.headers.pop_back();
  server_.then(answer);
  EXPECT_EQ(get().value(), Path::kRdma);
}

TEST_F(VerifyTest, GivesUpOnATransferAfterItsOwnTimeout) {
  options_.rdma.transfer_timeout = 100ms;
  options_.http.connect_timeout = 100ms;
  options_.http.request_timeout = 1h;
  server_.then({.hold = true});
  const auto result = get();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().late_write_possible);
}

}  // namespace
}  // namespace s3rdmafs::s3
