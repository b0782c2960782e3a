// SPDX-License-Identifier: Apache-2.0
// rdma.verify, and what a mount file can say about a server's headers.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/fake_region.h"
#include "s3/wire/object_checksum.h"
#include "s3rdmafs/base/checksum.h"
#include "store_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::ScriptedAnswer;

class VerifyTest : public OneServerTest {
 protected:
  VerifyTest() {
    options_.rdma.verify = Verify::kAlways;
    // The bytes that a server wrote by RDMA, which are there before its answer.
    std::ranges::fill(region_.bytes(), std::byte{'r'});
  }

  Got get() { return get_into(window_of(region_)); }

  /// Done by RDMA, of an object of `total_bytes`.
  static ScriptedAnswer done(std::size_t total_bytes, const std::string& checksum = "") {
    ScriptedAnswer answer = sent_by_rdma(0, total_bytes);
    if (!checksum.empty()) answer.headers.emplace_back("x-amz-checksum-crc64nvme", checksum);
    return answer;
  }
  static ScriptedAnswer body(char fill) { return sent_by_http(std::string(kWindowBytes, fill)); }
  bool window_is(char fill) const {
    return std::ranges::all_of(region_.bytes(),
                               [&](std::byte b) { return b == static_cast<std::byte>(fill); });
  }

  fakes::FakeRegion region_{kWindowBytes};
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
  EXPECT_EQ(fallbacks("verify_failed"), 1U);
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
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), 0U) << "no reader got them";
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
  const auto begin = std::chrono::steady_clock::now();
  const auto result = get();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().late_write_possible);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "it ended at its deadline, of 20 s";
}

}  // namespace
}  // namespace s3rdmafs::s3
