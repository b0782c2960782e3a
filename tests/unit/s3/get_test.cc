// SPDX-License-Identifier: Apache-2.0
// GETs as a server answers them: by RDMA, in the body, with a refusal, or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/down_region.h"
#include "reader_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using fakes::ScriptedAnswer;
using ::testing::HasSubstr;

class GetTest : public ObjectReaderTest {};

// --- Answers of good servers ---

TEST_F(GetTest, TakesBytesThatCameByRdma) {
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

// Reads from a server that loses only the answers to tokens must succeed in the end.
TEST_F(GetTest, GoesByHttpAfterTheAnswersToThreeTokensWereLost) {
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) server_.then({.cut = true});
  server_.then(body_answer());
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) {
    EXPECT_TRUE(get().error().late_write_possible);
    EXPECT_TRUE(has_token(i));
  }
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(Capability::kFailuresMax));
}

TEST_F(GetTest, KeepsAskingByTokenIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) server_.then({.cut = true});
  server_.then(rdma_answer());
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) EXPECT_FALSE(get());
  EXPECT_EQ(get().value(), Path::kRdma) << "an outage ends when the server is back";
}

// An RC session that a failed transfer broke, or a server that may still write, must not serve the
// next request; a session that a good answer left in peace should.
TEST_F(GetTest, TellsTheFabricTheFateOfEachToken) {
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

TEST_F(GetTest, TakesTheBodyIntoTheSameWindowIfTheServerKnowsNoRdma) {
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_TRUE(is_untouched_outside());
  EXPECT_TRUE(has_token(0));
  EXPECT_EQ(fallbacks("no_reply_header"), 1U);
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), kWindowBytes);

  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1)) << "the endpoint's no is believed for a while";
}

TEST_F(GetTest, TakesTheBodyOfAnExplicitDecline) {
  ScriptedAnswer answer = body_answer();
  answer.headers.emplace_back("x-amz-rdma-reply", "501");
  server_.then(answer);
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(fallbacks("declined"), 1U);
}

TEST_F(GetTest, AsksAgainWithoutTheTokenIfItIsDeclinedByAnError) {
  server_.then(error_answer(501, "S3RdmaNotSupported"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_TRUE(has_token(0));
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(counted("s3_retries_total"), 0U) << "no failure, so no retry";
}

TEST_F(GetTest, AsksAgainWithoutTheTokenIfItIsRejected) {
  server_.then(error_answer(400, "InvalidRDMAToken"));
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(fallbacks("token_rejected"), 1U);
}

TEST_F(GetTest, AsksAgainWithoutTheTokenIfFewerBytesCame) {
  ScriptedAnswer answer = rdma_answer();
  answer.headers.back().second = "4000";
  server_.then(answer);
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(fallbacks("truncated"), 1U);
}

TEST_F(GetTest, TakesNoByteFromSuccessWithABodyButAsksByHttp) {
  ScriptedAnswer answer = rdma_answer();
  answer.body = std::string(kWindowBytes, 'x');
  server_.then(answer);
  server_.then(body_answer());
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
  EXPECT_EQ(window(), data_bytes());
  EXPECT_EQ(fallbacks("success_with_body"), 1U);
}

TEST_F(GetTest, RefusesSuccessWithABodyAsCorruptIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  ScriptedAnswer answer = rdma_answer();
  answer.body = data_bytes();
  server_.then(answer);
  const auto result = get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, ErrorCode::kCorrupt);
  EXPECT_FALSE(result.error().late_write_possible) << "the server has answered";
}

TEST_F(GetTest, SendsNoTokenBelowTheThresholdOrIfSwitchedOff) {
  server_.then(body_answer());
  options_.rdma.threshold_bytes = kWindowBytes + 1;
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(0));
  store_.reset();
  options_.rdma = {.mode = RdmaMode::kOff};
  EXPECT_EQ(get().value(), Path::kHttp);
  EXPECT_FALSE(has_token(1));
}

TEST_F(GetTest, GoesByHttpWhileTheFabricIsDown) {
  server_.then(body_answer());
  fakes::DownRegion region(kMargin + kWindowBytes);
  EXPECT_EQ(get_into_region(region).value(), Path::kHttp);
  EXPECT_EQ(fallbacks("fabric_down"), 1U);
}

// --- mode "require" ---

TEST_F(GetTest, NeverFallsBackIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(body_answer());
  for (int i = 0; i < 2; ++i) {  // by the answer, then by what it has taught
    const auto result = get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().error.detail, HasSubstr("require"));
  }
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(GetTest, WaitsForAFabricThatComesBackIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(rdma_answer());
  fakes::DownRegion region(kMargin + kWindowBytes, /*tokens_refused=*/1);
  EXPECT_EQ(get_into_region(region).value(), Path::kRdma);
}

TEST_F(GetTest, GivesUpOnAFabricThatStaysDownIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  fakes::DownRegion region(kMargin + kWindowBytes);
  const auto result = get_into_region(region);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(result.error().late_write_possible) << "no token left this process";
  EXPECT_THAT(result.error().error.detail, HasSubstr("require"));
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(GetTest, UsesRdmaBelowTheThresholdIfItIsRequired) {
  options_.rdma = {.mode = RdmaMode::kRequire, .threshold_bytes = 1 << 20};
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
}

// --- Versions and ranges ---

TEST_F(GetTest, ReportsThatTheVersionIsGone) {
  for (const auto& [status, code] :
       {std::pair{412U, "PreconditionFailed"}, {404U, "NoSuchKey"}, {416U, "InvalidRange"}}) {
    server_.then(error_answer(status, code));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get().error().error.code, ErrorCode::kStale);
}

TEST_F(GetTest, ReportsThatTheBucketIsGone) {
  server_.then(error_answer(404, "NoSuchBucket"));
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().error.detail, HasSubstr("bucket 'train' does not exist"));
}

TEST_F(GetTest, NoticesAServerThatIgnoresIfMatch) {
  ScriptedAnswer answer = body_answer();
  answer.headers[0].second = "\"v2\"";
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kStale);
}

TEST_F(GetTest, NoticesBytesOfAnotherRange) {
  ScriptedAnswer answer = body_answer();
  answer.headers[1].second = "bytes 0-4095/100000";
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

TEST_F(GetTest, NoticesAServerThatIgnoresRange) {
  server_.then({.status = 200, .headers = {{"ETag", kEtag}}, .body = data_bytes()});
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

// --- Bodies of a wrong length ---

TEST_F(GetTest, NeverWritesPastTheWindow) {
  options_.rdma.mode = RdmaMode::kOff;
  ScriptedAnswer answer = body_answer();
  answer.body = data_bytes(2 * kWindowBytes);
  server_.then(answer);
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kProtocol);
  EXPECT_FALSE(result.error().late_write_possible);
  EXPECT_TRUE(is_untouched_outside());
}

TEST_F(GetTest, NeverWritesPastTheWindowOfATokenEither) {
  ScriptedAnswer answer = body_answer();
  answer.body = data_bytes(2 * kWindowBytes);
  server_.then(answer);
  const auto result = get();
  EXPECT_EQ(result.error().error.code, ErrorCode::kProtocol);
  EXPECT_TRUE(result.error().late_write_possible) << "the answer was broken off";
  EXPECT_TRUE(is_untouched_outside());
}

TEST_F(GetTest, RefusesATooShortBody) {
  options_.rdma.mode = RdmaMode::kOff;
  ScriptedAnswer answer = body_answer();
  answer.body.pop_back();
  server_.then(answer);
  EXPECT_EQ(get().error().error.code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace s3rdmafs::s3
