// SPDX-License-Identifier: Apache-2.0
// Each row is one behaviour of one peer, from s3rdmafs-protocol(7). The window is 1000
// bytes.
#include "rdma/reply_rule.h"

#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace s3rdmafs::rdma {

void PrintTo(Verdict verdict, std::ostream* out) {
  *out << "Verdict " << static_cast<int>(verdict);
}

namespace {

constexpr std::uint64_t kWindow = 1000;

struct Row {
  const char* peer;
  int status;
  std::optional<std::string_view> reply;
  std::optional<std::string_view> count;
  std::uint64_t body_bytes;
  std::string_view code;
  Verdict verdict;
  std::string_view reason;
};

ReplyFacts facts_of(const Row& row) {
  return {.http_status = row.status,
          .reply = row.reply,
          .bytes_transferred = row.count,
          .body_bytes = row.body_bytes,
          .expected_bytes = kWindow,
          .s3_error_code = row.code};
}

constexpr auto kNone = std::nullopt;

/// S3 errors without a header about RDMA; one without a code has no document either.
struct Errors {
  int status;
  std::vector<std::string_view> codes;
  Verdict verdict;
  std::string_view reason;
};

void expect_judged(Decision (*judge)(const ReplyFacts&), const std::vector<Errors>& all) {
  for (const auto& [status, codes, verdict, reason] : all) {
    for (const std::string_view code : codes) {
      const Decision decision = judge({.http_status = status,
                                       .reply = kNone,
                                       .bytes_transferred = kNone,
                                       .body_bytes = code.empty() ? 0U : 300U,
                                       .expected_bytes = kWindow,
                                       .s3_error_code = code});
      EXPECT_EQ(decision.verdict, verdict) << "HTTP " << status << " " << code;
      EXPECT_EQ(decision.reason, reason) << "HTTP " << status << " " << code;
    }
  }
}

TEST(ReplyRule, JudgesEveryKnownAnswerToGet) {
  const Row rows[] = {
      // Done by RDMA.
      {"draft spec, ranged", 206, "206", "1000", 0, "", Verdict::kDoneByRdma, "done"},
      {"draft spec, whole object", 200, "200", "1000", 0, "", Verdict::kDoneByRdma, "done"},
      {"fork's README: N/total", 206, "206", "1000/5000", 0, "", Verdict::kDoneByRdma, "done"},
      {"versitygw: HTTP 206 with reply 200", 206, "200", "1000", 0, "", Verdict::kDoneByRdma,
       "done"},
      {"AIStor, partNumber", 206, "206", "1000", 0, "", Verdict::kDoneByRdma, "done"},
      {"elbencho: HTTP 200 with reply 206, chunked empty body", 200, "206", "1000", 0, "",
       Verdict::kDoneByRdma, "done"},
      {"reply 204", 200, "204", "1000", 0, "", Verdict::kDoneByRdma, "done"},
      // Success that is none.
      {"NooBaa: truncates silently", 206, "206", "999", 0, "", Verdict::kTruncated, "truncated"},
      {"count zero", 200, "200", "0", 0, "", Verdict::kTruncated, "truncated"},
      {"wrote past the window", 206, "206", "1001", 0, "", Verdict::kCorrupt, "too_many_bytes"},
      {"count is not a number", 206, "206", "1000x", 0, "", Verdict::kCorrupt, "bad_byte_count"},
      {"count is empty", 206, "206", "", 0, "", Verdict::kCorrupt, "bad_byte_count"},
      {"count is negative", 206, "206", "-1", 0, "", Verdict::kCorrupt, "bad_byte_count"},
      {"success and a body too", 206, "206", "1000", 1000, "", Verdict::kCorrupt,
       "success_with_body"},
      {"success and one byte of body", 200, "200", "1000", 1, "", Verdict::kCorrupt,
       "success_with_body"},
      {"Dell: no count", 206, "200", kNone, 0, "", Verdict::kRetryWithoutToken, "no_byte_count"},
      // The body is the data.
      {"no RDMA at all", 206, kNone, kNone, 1000, "", Verdict::kBodyCarriesData, "no_reply_header"},
      {"NooBaa: small cached object", 200, kNone, kNone, 1000, "", Verdict::kBodyCarriesData,
       "no_reply_header"},
      {"draft spec: declined, data in the body", 200, "501", kNone, 1000, "",
       Verdict::kBodyCarriesData, "declined"},
      {"Ceph: staged, HTTP 206 and reply 501", 206, "501", kNone, 1000, "",
       Verdict::kBodyCarriesData, "declined"},
      {"another dialect, data in the body", 206, "200:00ff", kNone, 1000, "",
       Verdict::kBodyCarriesData, "unknown_reply"},
      // Not the data, nor an error.
      {"declined without the data", 200, "501", kNone, 0, "", Verdict::kRetryWithoutToken,
       "declined"},
      {"another dialect, no body", 200, "200:00ff", "1000", 0, "", Verdict::kRetryWithoutToken,
       "unknown_reply"},
      {"two contradicting replies", 200, "200, 501", "1000", 0, "", Verdict::kRetryWithoutToken,
       "unknown_reply"},
      {"versitygw: plain 200 for an empty object", 200, kNone, kNone, 0, "",
       Verdict::kRetryWithoutToken, "no_reply_header"},
      {"short body", 206, kNone, kNone, 999, "", Verdict::kTruncated, "truncated"},
      {"Range ignored: whole object", 200, kNone, kNone, 5000, "", Verdict::kCorrupt,
       "too_many_bytes"},
      // Errors that also have a reply.
      {"AIStor: reply 501 plus an S3 error", 400, "501", kNone, 300, "NotImplemented",
       Verdict::kRetryWithoutToken, "declined"},
      {"error with a success reply", 403, "200", "1000", 0, "AccessDenied", Verdict::kS3Error,
       "s3_error"},
  };
  for (const Row& row : rows) {
    const Decision decision = judge_get(facts_of(row));
    EXPECT_EQ(decision.verdict, row.verdict) << row.peer;
    EXPECT_EQ(decision.reason, row.reason) << row.peer;
  }
}

TEST(ReplyRule, JudgesEveryKnownErrorAfterAGet) {
  expect_judged(
      judge_get,
      {// NooBaa with RDMA switched off.
       {501, {"S3RdmaNotSupported"}, Verdict::kRetryWithoutToken, "declined"},
       // A bad token: the draft spec, NooBaa, versitygw with a generic code, and no document.
       {400,
        {"InvalidRDMAToken", "S3InvalidRdmaToken", "InvalidArgument", ""},
        Verdict::kTokenRejected,
        "token_rejected"},
       // The draft spec, NooBaa, Dell, and AIStor for a token of another length.
       {500,
        {"RDMATransferFailed", "S3RdmaIoError", "", "InternalError"},
        Verdict::kTransferFailed,
        "transfer_failed"},
       // About the session token, gone, replaced, throttled, and a redirect.
       {400, {"ExpiredToken"}, Verdict::kS3Error, "s3_error"},
       {404, {"NoSuchKey"}, Verdict::kS3Error, "s3_error"},
       {412, {"PreconditionFailed"}, Verdict::kS3Error, "s3_error"},
       {503, {"SlowDown"}, Verdict::kS3Error, "s3_error"},
       {307, {""}, Verdict::kS3Error, "s3_error"}});
}

TEST(ReplyRule, JudgesEveryKnownErrorAfterAPut) {
  expect_judged(
      judge_put,
      {// versitygw, of a part.
       {501, {"NotImplemented"}, Verdict::kRetryWithoutToken, "declined"},
       {400, {"InvalidRDMAToken"}, Verdict::kTokenRejected, "token_rejected"},
       {500, {"RDMATransferFailed"}, Verdict::kTransferFailed, "transfer_failed"},
       // A bad checksum, for which the token is not to blame, and an object that exists already.
       {400, {"BadDigest"}, Verdict::kS3Error, "s3_error"},
       {412, {"PreconditionFailed"}, Verdict::kS3Error, "s3_error"}});
}

TEST(ReplyRule, DoesWithoutACountOnlyWhereThatIsAllowedAndNothingElseIsInDoubt) {
  ReplyFacts facts{.http_status = 206,
                   .reply = "200",
                   .bytes_transferred = kNone,
                   .expected_bytes = kWindow,
                   .content_length = 0,
                   .is_count_optional = true};
  EXPECT_EQ(judge_get(facts).verdict, Verdict::kDoneByRdma);
  facts.content_length = kNone;
  EXPECT_EQ(judge_get(facts).reason, "no_byte_count") << "chunked";
  facts.content_length = 0;
  facts.is_count_optional = false;
  EXPECT_EQ(judge_get(facts).reason, "no_byte_count");
  facts.is_count_optional = true;
  facts.bytes_transferred = "999";
  EXPECT_EQ(judge_get(facts).verdict, Verdict::kTruncated) << "a count that is there counts";
}

TEST(ReplyRule, JudgesEveryKnownAnswerToPut) {
  const Row rows[] = {
      {"AIStor, Dell: no count", 200, "200", kNone, 0, "", Verdict::kDoneByRdma, "done"},
      {"NooBaa, versitygw: with count", 200, "200", "1000", 0, "", Verdict::kDoneByRdma, "done"},
      {"Cloudian: reply 204", 200, "204", kNone, 0, "", Verdict::kDoneByRdma, "done"},
      {"took less than all", 200, "200", "999", 0, "", Verdict::kTruncated, "truncated"},
      {"took more than all", 200, "200", "1001", 0, "", Verdict::kCorrupt, "too_many_bytes"},
      {"no RDMA: stored an empty object", 200, kNone, kNone, 0, "", Verdict::kRetryWithoutToken,
       "stored_empty"},
      {"draft spec: declined, nothing stored", 200, "501", kNone, 0, "",
       Verdict::kRetryWithoutToken, "declined"},
      {"reply 206 makes no sense for PUT", 200, "206", kNone, 0, "", Verdict::kRetryWithoutToken,
       "unknown_reply"},
  };
  for (const Row& row : rows) {
    const Decision decision = judge_put(facts_of(row));
    EXPECT_EQ(decision.verdict, row.verdict) << row.peer;
    EXPECT_EQ(decision.reason, row.reason) << row.peer;
  }
}

}  // namespace
}  // namespace s3rdmafs::rdma
