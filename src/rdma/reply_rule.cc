// SPDX-License-Identifier: Apache-2.0
//
// Why one place: no standard exists yet, and servers differ in every detail but the header names.
// A wrong "done" costs a user's bytes. So what is not clearly done is requested again by HTTP,
// which is always right and only slower.
#include "rdma/reply_rule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "s3rdmafs/base/ascii.h"

namespace s3rdmafs::rdma {
namespace {

enum class Reply { kAbsent, kSuccess, kDeclined, kUnknown };

Reply read_reply(const std::optional<std::string_view>& value) {
  if (!value) return Reply::kAbsent;
  if (*value == "200" || *value == "204" || *value == "206") return Reply::kSuccess;
  if (*value == "501") return Reply::kDeclined;
  return Reply::kUnknown;
}

/// "N" or "N/total".
std::optional<std::uint64_t> read_count(std::string_view text) {
  text = text.substr(0, text.find('/'));
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return count;
}

/// A successful reply is only as good as its count.
Decision check_count(std::string_view transferred, std::uint64_t expected_bytes) {
  const std::optional<std::uint64_t> count = read_count(transferred);
  if (!count) return {Verdict::kCorrupt, "bad_byte_count"};
  if (*count < expected_bytes) return {Verdict::kTruncated, "truncated"};
  if (*count > expected_bytes) return {Verdict::kCorrupt, "too_many_bytes"};
  return {Verdict::kDoneByRdma, "done"};
}

bool speaks_of_rdma(std::string_view s3_error_code) {
  return ascii_lower(s3_error_code).contains("rdma");
}

/// The codes of HTTP 400 that a bad token cannot cause. All others count against the token, since
/// versitygw and other servers answer a malformed one with a generic code.
constexpr std::array kCodesWithoutTheToken = std::to_array<std::string_view>(
    {"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeout",
     "AuthorizationHeaderMalformed", "InvalidBucketName", "KeyTooLongError", "IncompleteBody",
     "EntityTooSmall", "EntityTooLarge", "BadDigest", "InvalidDigest"});

bool is_400_without_the_token(std::string_view code) {
  return std::ranges::find(kCodesWithoutTheToken, code) != kCodesWithoutTheToken.end();
}

/// The meaning of every HTTP status of 300 and above, for GET and PUT alike.
Decision judge_error(const ReplyFacts& facts) {
  if (facts.http_status == 501 || read_reply(facts.reply) == Reply::kDeclined) {
    return {Verdict::kRetryWithoutToken, "declined"};
  }
  if (facts.http_status == 400 && !is_400_without_the_token(facts.s3_error_code)) {
    return {Verdict::kTokenRejected, "token_rejected"};
  }
  // Dell's and versitygw's failed transfers are a plain 500 with nothing that tells them apart.
  if (facts.http_status == 500 || speaks_of_rdma(facts.s3_error_code)) {
    return {Verdict::kTransferFailed, "transfer_failed"};
  }
  return {Verdict::kS3Error, "s3_error"};
}

bool is_success(int http_status) { return http_status >= 200 && http_status < 300; }

std::string_view reason_for_no_rdma(Reply reply) {
  if (reply == Reply::kDeclined) return "declined";
  return reply == Reply::kUnknown ? "unknown_reply" : "no_reply_header";
}

}  // namespace

Decision judge_get(const ReplyFacts& facts) {
  if (!is_success(facts.http_status)) return judge_error(facts);
  const Reply reply = read_reply(facts.reply);
  if (reply == Reply::kSuccess) {
    if (facts.body_bytes != 0) return {Verdict::kCorrupt, "success_with_body"};
    if (!facts.bytes_transferred) {
      if (facts.is_count_optional && facts.content_length == 0)
        return {Verdict::kDoneByRdma, "done"};
      return {Verdict::kRetryWithoutToken, "no_byte_count"};
    }
    return check_count(*facts.bytes_transferred, facts.expected_bytes);
  }
  if (facts.body_bytes == facts.expected_bytes) {
    return {Verdict::kBodyCarriesData, reason_for_no_rdma(reply)};
  }
  if (facts.body_bytes == 0) return {Verdict::kRetryWithoutToken, reason_for_no_rdma(reply)};
  if (facts.body_bytes < facts.expected_bytes) return {Verdict::kTruncated, "truncated"};
  return {Verdict::kCorrupt, "too_many_bytes"};
}

Decision judge_put(const ReplyFacts& facts) {
  if (!is_success(facts.http_status)) return judge_error(facts);
  const Reply reply = read_reply(facts.reply);
  if (reply == Reply::kAbsent) return {Verdict::kRetryWithoutToken, "stored_empty"};
  if (reply == Reply::kSuccess && *facts.reply != "206") {
    // Most servers leave the count out here, and the reply alone proves that RDMA was done.
    if (!facts.bytes_transferred) return {Verdict::kDoneByRdma, "done"};
    return check_count(*facts.bytes_transferred, facts.expected_bytes);
  }
  return {Verdict::kRetryWithoutToken, reply == Reply::kDeclined ? "declined" : "unknown_reply"};
}

}  // namespace s3rdmafs::rdma
