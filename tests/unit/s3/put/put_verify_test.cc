// SPDX-License-Identifier: Apache-2.0
// rdma.verify for objects that are stored: what a server says it read by RDMA is compared with what
// it has.
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/wire/object_checksum.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

constexpr const char* kOtherChecksum = "AAAAAAAAAAA=";

/// The first request of each test is a part, by which the store learns that the server reads.
class PutVerifyTest : public ObjectWriterTest {
 protected:
  PutVerifyTest() { options_.rdma.verify = Verify::kAlways; }

  /// The object as the server has it.
  static ScriptedAnswer object(const std::string& bytes, const std::string& checksum = "",
                               const std::string& etag = "\"new\"") {
    ScriptedAnswer answer{.headers = {{"ETag", etag}}, .body = bytes};
    if (!checksum.empty()) answer.headers.emplace_back("x-amz-checksum-crc64nvme", checksum);
    return answer;
  }
  ScriptedAnswer right() { return object(window(), checksum()); }
  std::string checksum() { return checksum_text(body(region_).crc64nvme); }

  std::vector<std::string> after_the_part() const {
    std::vector<std::string> all = summaries();
    all.erase(all.begin());
    return all;
  }
  void expect_wrong(const PutOutcome& outcome) {
    ASSERT_FALSE(outcome.etag);
    EXPECT_EQ(outcome.etag.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(outcome.etag.error().detail, HasSubstr(server_.url()));
    EXPECT_EQ(counted("rdma_put_verify_failures_total"), 1U);
  }
};

TEST_F(PutVerifyTest, ComparesAnObjectWithTheChecksumThatTheServerHas) {
  learn_that_it_reads({rdma_ok(), right()});
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_THAT(after_the_part(), ElementsAre("PUT /train/k token", "HEAD /train/k"));
  EXPECT_EQ(server_.seen().at(2).headers.at("x-amz-checksum-mode"), "ENABLED");
  EXPECT_EQ(counted("rdma_put_verifications_total"), 1U);
  EXPECT_EQ(counted("rdma_put_verify_failures_total"), 0U);
}

TEST_F(PutVerifyTest, FailsAWriteWithAnotherChecksumAndRemovesTheObject) {
  learn_that_it_reads(
      {rdma_ok(), object(window(), kOtherChecksum), /*undo*/ ok(), {.status = 204}});
  expect_wrong(put());
  EXPECT_THAT(after_the_part(), ElementsAre("PUT /train/k token", "HEAD /train/k", "HEAD /train/k",
                                            "DELETE /train/k"));
  EXPECT_EQ(server_.seen().at(4).headers.at("if-match"), "\"new\"");
}

TEST_F(PutVerifyTest, ReadsAnObjectBackIfTheServerHasNoChecksum) {
  learn_that_it_reads({rdma_ok(), object(window()), object(window())});
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_THAT(after_the_part(), ElementsAre("PUT /train/k token", "HEAD /train/k", "GET /train/k"));
  const auto seen = server_.seen().at(3);
  EXPECT_EQ(seen.headers.at("range"), "bytes=0-4095");
  EXPECT_EQ(seen.headers.at("if-match"), "\"new\"");
  EXPECT_EQ(counted("get_bytes_total", R"(path="http")"), 0U) << "no reader got them";
}

TEST_F(PutVerifyTest, FailsAWriteWhoseObjectReadsBackOtherwise) {
  std::string other = window();
  other.back() = static_cast<char>(other.back() ^ 1);
  learn_that_it_reads({rdma_ok(), object(window()), object(other), /*undo*/ ok(), {.status = 204}});
  expect_wrong(put());
}

TEST_F(PutVerifyTest, FailsAWriteWhoseObjectHasAnotherLength) {
  learn_that_it_reads({rdma_ok(), object("", checksum()), /*undo*/ ok(), {.status = 204}});
  expect_wrong(put());
}

TEST_F(PutVerifyTest, StoresNothingMoreByTokenWhereItWasStoredWrong) {
  learn_that_it_reads(
      {rdma_ok(), object(window(), kOtherChecksum), /*undo*/ ok(), {.status = 204}, ok()});
  expect_wrong(put());
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(put_part().path, Path::kHttp);
  EXPECT_EQ(fallbacks("stored_wrong"), 2U);
}

TEST_F(PutVerifyTest, RefusesLaterWritesWhereRdmaIsRequiredAndTheyWereStoredWrong) {
  options_.rdma.mode = RdmaMode::kRequire;
  learn_that_it_reads(
      {rdma_ok(), object(window(), kOtherChecksum), /*undo*/ ok(), {.status = 204}});
  expect_wrong(put());
  EXPECT_EQ(put().etag.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(put_part().etag.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(server_.seen().size(), 5U);
}

TEST_F(PutVerifyTest, DoesNotBlameTheServerForAnotherClientsObject) {
  learn_that_it_reads({rdma_ok(), object("theirs", kOtherChecksum, "\"theirs\"")});
  EXPECT_EQ(put().etag.value(), "\"new\"");
  EXPECT_EQ(counted("rdma_put_verify_failures_total"), 0U);
}

TEST_F(PutVerifyTest, DoesNotBlameTheServerIfTheObjectMayNotBeRead) {
  learn_that_it_reads({rdma_ok(), {.status = 403}});
  EXPECT_TRUE(put().etag) << "a key that may write and not read";
  EXPECT_EQ(server_.seen().size(), 3U);
}

TEST_F(PutVerifyTest, DoesNotBlameAServerThatCannotAnswerNow) {
  learn_that_it_reads({rdma_ok(), {.status = 503}});
  EXPECT_TRUE(put().etag) << "the object is stored";
  EXPECT_EQ(counted("rdma_put_verify_failures_total"), 0U);
}

// --- Uploads in parts, whatever the mount file says ---

class UploadVerifyTest : public ObjectWriterTest {
 protected:
  static constexpr std::size_t kCut = 1000;

  /// The window in two parts.
  std::vector<UploadedPart> parts() {
    const auto all = body(region_).window.bytes();
    const auto part = [&](unsigned number, std::span<std::byte> bytes) {
      return UploadedPart{.number = number,
                          .etag = kPartEtag,
                          .crc64nvme = crc64nvme(0, bytes),
                          .size_bytes = bytes.size()};
    };
    return {part(1, all.first(kCut)), part(2, all.subspan(kCut))};
  }
  static ScriptedAnswer completed(const std::string& checksum, const std::string& more = "") {
    return {.body = "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag><ChecksumCRC64NVME>" +
                    checksum + "</ChecksumCRC64NVME>" + more + "</CompleteMultipartUploadResult>"};
  }
  std::uint64_t failures() { return counted("rdma_put_verify_failures_total"); }
};

TEST_F(UploadVerifyTest, TakesAnObjectWhoseChecksumIsThatOfItsParts) {
  server_.then(completed(checksum_text(body(region_).crc64nvme)));
  EXPECT_EQ(complete(parts()).value(), "\"whole\"");
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_EQ(failures(), 0U);
}

TEST_F(UploadVerifyTest, FailsAndRemovesAnObjectWhoseChecksumIsAnother) {
  server_.then(completed(kOtherChecksum));
  server_.then({.status = 204});
  EXPECT_EQ(complete(parts()).error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(summaries(), ElementsAre("POST /train/k?uploadId=up%2F1 body", "DELETE /train/k"));
  EXPECT_EQ(server_.seen().at(1).headers.at("if-match"), "\"whole\"");
  EXPECT_EQ(failures(), 1U);
}

TEST_F(UploadVerifyTest, FailsAlsoWhereTheObjectCannotBeRemoved) {
  server_.then(completed(kOtherChecksum));
  server_.then(error_answer(403, "AccessDenied"));
  EXPECT_EQ(complete(parts()).error().code, ErrorCode::kCorrupt);
}

TEST_F(UploadVerifyTest, AsksAgainWhereTheRemovalFails) {
  server_.then(completed(kOtherChecksum));
  server_.then(error_answer(503, "SlowDown"));
  server_.then({.status = 204});
  EXPECT_EQ(complete(parts()).error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(summaries(), ElementsAre("POST /train/k?uploadId=up%2F1 body", "DELETE /train/k",
                                       "DELETE /train/k"));
}

TEST_F(UploadVerifyTest, StoresNoPartByTokenWhereOneCameOutWrong) {
  server_.then(rdma_ok());
  server_.then(completed(kOtherChecksum));
  server_.then({.status = 204});
  server_.then(ok());
  ASSERT_EQ(put_part().path, Path::kRdma);
  ASSERT_FALSE(complete(parts()));
  EXPECT_EQ(put_part().path, Path::kHttp);
}

TEST_F(UploadVerifyTest, ComparesNoChecksumOfChecksumsAndNoneOfPartsOfUnknownLength) {
  server_.then(completed(kOtherChecksum, "<ChecksumType>COMPOSITE</ChecksumType>"));
  server_.then(completed(std::string(kOtherChecksum) + "-2"));
  server_.then(completed(kOtherChecksum));
  EXPECT_TRUE(complete(parts()));
  EXPECT_TRUE(complete(parts()));
  EXPECT_TRUE(complete()) << "the fixture's part has none";
  EXPECT_EQ(failures(), 0U);
}

// --- The controls: what is not compared ---

TEST_F(PutVerifyTest, ComparesNothingIfSwitchedOff) {
  options_.rdma.verify = Verify::kOff;
  learn_that_it_reads({rdma_ok()});
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(PutVerifyTest, ComparesNothingThatWentByHttp) {
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(ok());
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(server_.seen().size(), 1U) << "TCP and the payload's checksum have";
}

TEST_F(PutVerifyTest, ComparesTheFirstObjectsAndFewAfterwardsIfSampled) {
  options_.rdma.verify = Verify::kSample;
  std::vector<ScriptedAnswer> answers;
  for (unsigned i = 0; i < VerifySampler::kFirst; ++i) {
    answers.push_back(rdma_ok());
    answers.push_back(right());
  }
  answers.push_back(rdma_ok());
  learn_that_it_reads(answers);
  for (unsigned i = 0; i < VerifySampler::kFirst + 3; ++i) EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_EQ(counted("rdma_put_verifications_total"), VerifySampler::kFirst);
}

}  // namespace
}  // namespace s3rdmafs::s3
