// SPDX-License-Identifier: Apache-2.0
// The client's write side against a scripted server.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/down_region.h"
#include "s3/exchanges/complete_upload_exchange.h"
#include "s3/wire/object_checksum.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::SeenRequest;
using ::testing::Each;
using ::testing::Not;

// --- By HTTP ---

TEST_F(ObjectWriterTest, SendsTheWindowAndItsChecksumInOnePut) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(ok());
  const PutOutcome outcome = put();
  EXPECT_EQ(outcome.etag.value(), "\"new\"");
  EXPECT_EQ(outcome.path, Path::kHttp);
  EXPECT_FALSE(outcome.late_read_possible);
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(summary(seen), "PUT /train/k body");
  EXPECT_EQ(seen.body, window());
  EXPECT_EQ(seen.headers.at("content-length"), "4096");
  EXPECT_FALSE(seen.headers.contains("transfer-encoding"));
  EXPECT_FALSE(seen.headers.contains("expect"));
  EXPECT_EQ(seen.headers.at("x-amz-checksum-crc64nvme"),
            checksum_text(crc64nvme(0, region_.bytes().subspan(kOffset, kWindowBytes))));
  EXPECT_THAT(seen.headers.at("authorization"), HasSubstr("x-amz-checksum-crc64nvme"))
      << "the signature covers the checksum, and so the bytes";
  EXPECT_EQ(counted("put_bytes_total", R"(path="http")"), kWindowBytes);
}

TEST_F(ObjectWriterTest, StoresAnEmptyObjectByPlainHttp) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(ok());
  Outcome<PutOutcome> outcome;
  store().put("k", {}, {}, soon(), outcome.done());
  EXPECT_TRUE(outcome.get().etag);
  EXPECT_THAT(summaries(), ElementsAre("PUT /train/k"));
  EXPECT_EQ(server_.seen().at(0).headers.at("content-length"), "0");
}

TEST_F(ObjectWriterTest, SendsAPutAgainThatFailed) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(error_answer(503, "SlowDown"));
  server_.then({.cut = true});
  server_.then(ok());
  EXPECT_TRUE(put().etag);
  EXPECT_EQ(server_.seen().size(), 3U);
  EXPECT_EQ(server_.seen().at(2).body, window());
}

TEST_F(ObjectWriterTest, SendsAgainBytesThatArrivedDamaged) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(error_answer(400, "BadDigest", "The CRC64NVME checksum did not match"));
  server_.then(ok());
  EXPECT_TRUE(put().etag);
  EXPECT_TRUE(server_.seen().at(1).headers.contains("x-amz-checksum-crc64nvme"))
      << "a mismatch is not a refusal of checksums";
}

TEST_F(ObjectWriterTest, GoesOnWithoutAChecksumThatTheServerRefuses) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(error_answer(501, "NotImplemented", "x-amz-checksum-crc64nvme is not implemented"));
  server_.then(ok());
  EXPECT_TRUE(put().etag);
  EXPECT_FALSE(server_.seen().at(1).headers.contains("x-amz-checksum-crc64nvme"));
  EXPECT_TRUE(put().etag);
  EXPECT_EQ(server_.seen().size(), 3U) << "the refusal is remembered";
  EXPECT_FALSE(server_.seen().at(2).headers.contains("x-amz-checksum-crc64nvme"));
}

// --- By token ---

TEST_F(ObjectWriterTest, SendsAPartByTokenWithoutABody) {
  server_.then(rdma_ok());
  const PutOutcome outcome = put_part();
  EXPECT_TRUE(outcome.etag);
  EXPECT_EQ(outcome.path, Path::kRdma);
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(summary(seen), "PUT /train/k?partNumber=7&uploadId=up%2F1 token");
  EXPECT_EQ(seen.headers.at("x-amz-rdma-token"), "fake:0:64:4096");
  EXPECT_EQ(seen.headers.at("content-length"), "0");
  EXPECT_EQ(seen.headers.at("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_TRUE(seen.headers.contains("x-amz-checksum-crc64nvme"));
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kAnswered);
  EXPECT_EQ(counted("put_bytes_total", R"(path="rdma")"), kWindowBytes);
}

TEST_F(ObjectWriterTest, SendsAPartWithABodyIfTheServerIgnoresTheToken) {
  server_.then(ok());
  const PutOutcome outcome = put_part();
  EXPECT_TRUE(outcome.etag);
  EXPECT_EQ(outcome.path, Path::kHttp);
  EXPECT_THAT(summaries(), ElementsAre("PUT /train/k?partNumber=7&uploadId=up%2F1 token",
                                       "PUT /train/k?partNumber=7&uploadId=up%2F1 body"));
  EXPECT_TRUE(put_part().etag);
  EXPECT_EQ(server_.seen().size(), 3U) << "the no is paid for once";
}

TEST_F(ObjectWriterTest, SendsAPartAgainFromTheSameWindowAndTellsOfALateRead) {
  server_.then({.cut = true});
  server_.then(rdma_ok());
  const PutOutcome outcome = put_part();
  EXPECT_TRUE(outcome.etag);
  EXPECT_TRUE(outcome.late_read_possible);
  EXPECT_EQ(server_.seen().at(1).headers.at("x-amz-rdma-token"), "fake:0:64:4096");
}

TEST_F(ObjectWriterTest, TellsOfNoLateReadIfEveryTokenWasAnswered) {
  server_.then(error_answer(500, "RDMATransferFailed"));
  server_.then(ok());
  const PutOutcome outcome = put_part();
  EXPECT_TRUE(outcome.etag);
  EXPECT_EQ(outcome.path, Path::kHttp);
  EXPECT_FALSE(outcome.late_read_possible);
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kTransferFailed);
}

TEST_F(ObjectWriterTest, TakesAChecksumMismatchAfterATokenForAFailedTransfer) {
  server_.then(error_answer(400, "BadDigest", "The CRC64NVME checksum did not match"));
  server_.then(ok());
  EXPECT_EQ(put_part().path, Path::kHttp);
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kTransferFailed);
  EXPECT_EQ(fallbacks("checksum_mismatch"), 1U);
}

TEST_F(ObjectWriterTest, FailsAPartThatCannotGoByRdmaIfThatIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  server_.then(ok());
  const PutOutcome outcome = put_part();
  ASSERT_FALSE(outcome.etag);
  EXPECT_EQ(outcome.etag.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(server_.seen().size(), 1U);
}

// --- The zero-byte hazard ---

TEST_F(ObjectWriterTest, ProbesWithAPartBeforeTheFirstPutByToken) {
  answer_part_probe(rdma_ok());
  server_.then(rdma_ok());
  EXPECT_THAT((std::array{put().path, put().path}), Each(Path::kRdma));
  EXPECT_EQ(summaries(), after_part_probe({"PUT /train/k token", "PUT /train/k token"}));
  EXPECT_EQ(counted("put_bytes_total", R"(path="rdma")"), 2 * kWindowBytes) << "not the probe's";
}

TEST_F(ObjectWriterTest, NotesTheUploadOfItsProbeUntilItIsAborted) {
  NotedUploads noted;
  store().set_upload_log(noted);
  answer_part_probe(rdma_ok());
  server_.then(rdma_ok());
  EXPECT_TRUE(put().etag);
  EXPECT_THAT(noted.notes(), ElementsAre("+k up/1", "-up/1"));
}

TEST_F(ObjectWriterTest, NotesAProbeThatIsNotAbortedForGood) {
  NotedUploads noted;
  store().set_upload_log(noted);
  server_.then(upload_created());
  server_.then(rdma_ok());
  server_.then(error_answer(403, "AccessDenied"));
  server_.then(rdma_ok());
  EXPECT_TRUE(put().etag);
  EXPECT_THAT(noted.notes(), ElementsAre("+k up/1"));
}

TEST_F(ObjectWriterTest, NeverSendsAWholeObjectByTokenToAServerThatIgnoresThem) {
  answer_part_probe(ok());
  server_.then(ok());
  EXPECT_THAT((std::array{put().path, put().path}), Each(Path::kHttp));
  EXPECT_EQ(summaries(), after_part_probe({"PUT /train/k body", "PUT /train/k body"}));
}

TEST_F(ObjectWriterTest, DoesNotProbeWithoutAFabricNorBelowTheThreshold) {
  server_.then(ok());
  fakes::DownRegion region(kOffset + kWindowBytes);
  Outcome<PutOutcome> outcome;
  store().put("k", body(region), {}, soon(), outcome.done());
  EXPECT_TRUE(outcome.get().etag);
  EXPECT_EQ(fallbacks("fabric_down"), 1U);
  EXPECT_EQ(fallbacks("not_known_to_read"), 0U);
  store_.reset();
  options_.rdma.threshold_bytes = kWindowBytes + 1;
  EXPECT_TRUE(put().etag);
  EXPECT_THAT(summaries(), ElementsAre("PUT /train/k body", "PUT /train/k body"));
}

TEST_F(ObjectWriterTest, ProbesOnceTheFabricIsBackIfRdmaIsRequired) {
  options_.rdma.mode = RdmaMode::kRequire;
  answer_part_probe(rdma_ok());
  server_.then(rdma_ok());
  fakes::DownRegion region(kOffset + kWindowBytes, /*tokens_refused=*/1);
  Outcome<PutOutcome> outcome;
  store().put("k", body(region), {}, soon(), outcome.done());
  EXPECT_EQ(outcome.get().path, Path::kRdma);
}

TEST_F(ObjectWriterTest, StoresAgainWithABodyWhatAServerStoredEmpty) {
  learn_that_it_reads({ok("\"empty\""), ok()});
  const PutOutcome outcome = put();
  EXPECT_EQ(outcome.etag.value(), "\"new\"");
  EXPECT_EQ(outcome.path, Path::kHttp);
  EXPECT_EQ(server_.seen().at(2).body, window());
  EXPECT_EQ(counted("rdma_puts_stored_wrong_total"), 1U);
  EXPECT_TRUE(put().etag);
  EXPECT_EQ(summaries().at(3), "PUT /train/k body") << "it is not believed any more";
}

TEST_F(ObjectWriterTest, StoresAgainWhatAServerReadOnlyPartOf) {
  learn_that_it_reads({rdma_ok("4000"), ok()});
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(server_.seen().at(2).body, window());
}

TEST_F(ObjectWriterTest, ReplacesItsOwnEmptyObjectOnlyIfItIsStillThat) {
  learn_that_it_reads({condition_fails(), ok("\"empty\""), ok()});
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_EQ(server_.seen().at(2).headers.at("if-none-match"), "*");
  EXPECT_FALSE(server_.seen().at(3).headers.contains("if-none-match"));
  EXPECT_EQ(server_.seen().at(3).headers.at("if-match"), "\"empty\"");
}

TEST_F(ObjectWriterTest, RemovesAnEmptyObjectThatItCannotReplace) {
  learn_that_it_reads({ok("\"empty\""),
                       error_answer(403, "AccessDenied"),
                       /*HEAD*/ ok("\"empty\""),
                       {.status = 204}});
  EXPECT_EQ(put().etag.error().code, ErrorCode::kAccessDenied);
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(summary(seen.at(3)), "HEAD /train/k");
  EXPECT_EQ(summary(seen.at(4)), "DELETE /train/k");
  EXPECT_EQ(seen.at(4).headers.at("if-match"), "\"empty\"");
}

TEST_F(ObjectWriterTest, LeavesAloneWhatOthersStoredMeanwhile) {
  learn_that_it_reads(
      {ok("\"empty\""), error_answer(403, "AccessDenied"), /*HEAD*/ ok("\"theirs\"")});
  EXPECT_FALSE(put().etag);
  EXPECT_EQ(server_.seen().size(), 4U) << "no DELETE";
}

TEST_F(ObjectWriterTest, RepairsAnEmptyObjectEvenIfRdmaIsRequiredAndThenFails) {
  options_.rdma.mode = RdmaMode::kRequire;
  learn_that_it_reads({ok("\"empty\""), ok()});
  EXPECT_EQ(put().etag.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(server_.seen().at(2).body, window());
}

// --- Uploads ---

TEST_F(ObjectWriterTest, BeginsAnUploadWithItsChecksum) {
  server_.then(upload_created());
  Outcome<Result<std::string>> outcome;
  store().create_upload("k", {}, soon(), outcome.done());
  EXPECT_EQ(outcome.get().value(), "up/1");
  EXPECT_THAT(summaries(), ElementsAre("POST /train/k?uploads"));
  EXPECT_EQ(server_.seen().at(0).headers.at("x-amz-checksum-algorithm"), "CRC64NVME");
}

TEST_F(ObjectWriterTest, BeginsAnUploadWithoutAChecksumThatIsRefused) {
  server_.then(error_answer(400, "InvalidRequest", "Checksum algorithm provided is unsupported"));
  server_.then(upload_created());
  Outcome<Result<std::string>> outcome;
  store().create_upload("k", {}, soon(), outcome.done());
  EXPECT_TRUE(outcome.get());
  EXPECT_FALSE(server_.seen().at(1).headers.contains("x-amz-checksum-algorithm"));
}

TEST_F(ObjectWriterTest, CompletesAnUploadWithItsPartsAndTheirChecksums) {
  server_.then(upload_completed());
  EXPECT_EQ(complete({{1, "\"a\"", 0}, {3, "\"b\"", 1}}).value(), "\"whole\"");
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(summary(seen), "POST /train/k?uploadId=up%2F1 body");
  EXPECT_THAT(seen.body, HasSubstr("<PartNumber>3</PartNumber><ETag>\"b\"</ETag>"
                                   "<ChecksumCRC64NVME>AAAAAAAAAAE=</ChecksumCRC64NVME>"));
}

TEST_F(ObjectWriterTest, FindsTheErrorInsideA200) {
  server_.then({.body = " <?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>"});
  server_.then({.body = "<Error><Code>InvalidPart</Code><Message>part 1</Message></Error>"});
  const Result<std::string> etag = complete();
  ASSERT_FALSE(etag);
  EXPECT_THAT(etag.error().detail, HasSubstr("InvalidPart"));
  EXPECT_EQ(server_.seen().size(), 2U) << "the first is worth another attempt, the second not";
}

TEST_F(ObjectWriterTest, FindsOutByHeadWhetherALostCompletionTookEffect) {
  server_.then({.cut = true});
  server_.then(error_answer(404, "NoSuchUpload"));
  server_.then(ok("\"whole\""));
  EXPECT_EQ(complete().value(), "\"whole\"");
  EXPECT_EQ(summaries().at(2), "HEAD /train/k");
}

// The former object may look like ours, so that a HEAD alone proves little.
TEST_F(ObjectWriterTest, RepeatsACompletionWhoseAnswerOfSuccessIsUnclear) {
  server_.then({.body = "<CompleteMultipartUploadResult>"});
  server_.then(upload_completed());
  EXPECT_EQ(complete().value(), "\"whole\"");
  EXPECT_TRUE(summaries().at(1).starts_with("POST ")) << summaries().at(1);
}

TEST_F(ObjectWriterTest, AsksByHeadAfterASecondUnclearAnswer) {
  server_.then({.body = "fine"});
  server_.then({.body = "fine"});
  server_.then(ok("\"whole\""));
  EXPECT_EQ(complete().value(), "\"whole\"");
  EXPECT_EQ(summaries().at(2), "HEAD /train/k");
}

TEST_F(ObjectWriterTest, TellsThatALostCompletionTookNoEffect) {
  server_.then({.cut = true});
  server_.then(error_answer(404, "NoSuchUpload"));
  server_.then({.status = 404});
  EXPECT_EQ(complete().error().code, ErrorCode::kNotFound);
}

TEST_F(ObjectWriterTest, TellsThatAnUploadIsGoneIfNoCompletionWasLost) {
  server_.then(error_answer(404, "NoSuchUpload"));
  EXPECT_EQ(complete().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST(CompletedUpload, IsGivenASecondMoreForEach32MiB) {
  constexpr std::uint64_t kPartBytes = 16ULL << 20;
  const auto parts = [](std::size_t count) {
    return std::vector<UploadedPart>(count,
                                     {.number = 1, .etag = kPartEtag, .size_bytes = kPartBytes});
  };
  EXPECT_EQ(assembly_time(parts(1)), 0s);
  EXPECT_EQ(assembly_time(parts(2)), 1s);
  EXPECT_EQ(assembly_time(parts(128)), 64s);
}

TEST(CompletedUpload, IsToldFromAnotherObjectByTheFormOfItsEtag) {
  const std::string md5(32, 'a');
  const std::vector<UploadedPart> parts = {{1, "\"" + md5 + "\"", 0}, {2, md5, 0}};
  EXPECT_TRUE(may_be_made_of("\"" + md5 + "-2\"", parts));
  EXPECT_FALSE(may_be_made_of("\"" + md5 + "-3\"", parts));
  EXPECT_FALSE(may_be_made_of("\"" + md5 + "\"", parts)) << "one PUT";
  EXPECT_TRUE(may_be_made_of("\"anything\"", {{1, "\"opaque\"", 0}}));
}

TEST_F(ObjectWriterTest, TakesWhatIsGoneForRemoved) {
  server_.then(error_answer(404, "NoSuchUpload"));
  Outcome<Result<void>> aborted;
  store().abort_upload("k", "up/1", soon(), aborted.done());
  EXPECT_TRUE(aborted.get());
  Outcome<Result<void>> removed;
  store().remove("k", soon(), removed.done());
  EXPECT_TRUE(removed.get());
  EXPECT_THAT(summaries(), ElementsAre("DELETE /train/k?uploadId=up%2F1", "DELETE /train/k"));
}

TEST_F(ObjectWriterTest, ReportsThatTheBucketIsGoneIfThereIsNothingToRemove) {
  server_.then(error_answer(404, "NoSuchBucket"));
  Outcome<Result<void>> removed;
  store().remove("k", soon(), removed.done());
  EXPECT_EQ(removed.get().error().code, ErrorCode::kNotFound);
}

TEST_F(ObjectWriterTest, EndsWritesInFlightWhenShutDown) {
  server_.then({.hold = true});
  Outcome<PutOutcome> ended;
  store().upload_part("k", "up/1", 7, body(region_), soon(), ended.done());
  ASSERT_TRUE(server_.wait_for_requests(1));
  store().shut_down();
  const PutOutcome outcome = ended.get();
  EXPECT_EQ(outcome.etag.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(outcome.late_read_possible);
}

}  // namespace
}  // namespace s3rdmafs::s3
