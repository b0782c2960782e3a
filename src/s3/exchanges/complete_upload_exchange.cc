// SPDX-License-Identifier: Apache-2.0
//
// Whether it took effect. The request may be repeated: as long as the upload exists, nothing has
// happened. After a lost attempt "no such upload" most likely means that the attempt succeeded,
// since no other client completes our upload. A HEAD then confirms that an object of as many parts
// exists, since a life-cycle rule may have aborted the upload instead.
//
// Wrong bytes. If the answer has the whole object's checksum, it is compared with that of the
// parts. It costs nothing, and not every server compares the checksum that comes with a part.
#include "s3/exchanges/complete_upload_exchange.h"

#include <algorithm>
#include <span>
#include <utility>

#include "s3/wire/object_checksum.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3/wire/xml/xml_writer.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

std::string_view bare_etag(std::string_view etag) {
  if (etag.starts_with('"')) etag.remove_prefix(1);
  if (etag.ends_with('"')) etag.remove_suffix(1);
  return etag;
}

bool is_md5(std::string_view text) {
  constexpr std::size_t kMd5HexDigits = 32;
  return text.size() == kMd5HexDigits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

bool may_be_made_of(std::string_view object_etag, const std::vector<UploadedPart>& parts) {
  const bool are_md5 = std::ranges::all_of(
      parts, [](const UploadedPart& part) { return is_md5(bare_etag(part.etag)); });
  if (!are_md5) return true;
  const std::string_view text = bare_etag(object_etag);
  const std::size_t dash = text.find('-');
  return is_md5(text.substr(0, dash)) && dash != std::string_view::npos &&
         text.substr(dash + 1) == std::to_string(parts.size());
}

std::optional<std::uint64_t> crc64nvme_of(const std::vector<UploadedPart>& parts) {
  std::uint64_t sum = 0;
  for (const UploadedPart& part : parts) {
    if (part.size_bytes == 0 || part.crc64nvme == 0) return std::nullopt;
    sum = crc64nvme_joined(sum, part.crc64nvme, part.size_bytes);
  }
  return sum;
}

CompleteUploadExchange::CompleteUploadExchange(TransferShared& shared, std::string key,
                                               std::string upload_id,
                                               std::vector<UploadedPart> parts, Precondition when,
                                               Done<std::string> done)
    : shared_(shared),
      key_(std::move(key)),
      upload_id_(std::move(upload_id)),
      parts_(std::move(parts)),
      guard_(key_, std::move(when), ConditionKind::kCompleteUpload),
      done_(std::move(done)),
      etag_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void CompleteUploadExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  if (!wrong_etag_.empty()) {
    return ready(endpoint_->builder.build({.method = HttpMethod::kDelete,
                                           .key = key_,
                                           .headers = {{"if-match", quoted_etag(wrong_etag_)}}}));
  }
  if (is_checking_effect_) return ready(build_head(endpoint, key_));
  if (auto before = guard_.request_before(endpoint)) return ready(std::move(*before));
  ready(build());
}

Result<HttpRequest> CompleteUploadExchange::build() {
  has_checksums_ = endpoint_->checksums.takes_crc64nvme();
  document_ = complete_upload_document(parts_, has_checksums_);
  RequestSpec spec{.method = HttpMethod::kPost,
                   .key = key_,
                   .query = {{"uploadId", upload_id_}},
                   .headers = {{"content-type", "application/xml"}},
                   .payload_hash = sha256_hex(document_)};
  guard_.add_header(spec.headers);
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (request) {
    request->body = std::as_bytes(std::span(document_));
    request->text_bytes_max = kErrorTextBytesMax;
    request->send_once = true;  // a resend by libcurl would hide that the first may have worked
    request->extra_time = assembly_time(parts_);
  }
  return request;
}

Exchange::Next CompleteUploadExchange::on_outcome(HttpOutcome outcome) {
  if (!wrong_etag_.empty()) return on_removal(std::move(outcome));
  if (guard_.is_asking()) return on_guarded(outcome);
  if (outcome) return is_checking_effect_ ? on_head(*outcome) : on_answer(*outcome);
  if (!is_checking_effect_ && outcome.error().may_have_reached_server)
    may_have_taken_effect_ = true;
  return failed(std::move(outcome.error().error));
}

Exchange::Next CompleteUploadExchange::on_guarded(const HttpOutcome& outcome) {
  std::optional<Next> next = guard_.on_outcome(outcome);
  if (next) return std::move(*next);
  has_conflict_ = true;
  return may_have_taken_effect_ ? on_head(*outcome) : on_conflict();
}

Exchange::Next CompleteUploadExchange::on_answer(const HttpResponse& response) {
  // AWS sends the 200 before the result is known: the document may still be an error.
  const S3Error error = parse_error(response.text);
  if (!response.is_success() || !error.code.empty()) {
    const int status = status_of(response.status, error);
    if (may_take_effect_later(status, error)) may_have_taken_effect_ = true;
    return on_error(response, error);
  }
  Result<std::string> etag = parse_completed_etag(response.text);
  if (!etag) {
    // A success of an unknown form, or half an answer, which may have been an error. The request is
    // repeated once: "no such upload" then says more than a HEAD, which may see the former object.
    may_have_taken_effect_ = true;
    is_checking_effect_ = std::exchange(was_unclear_, true);
    return send_again();
  }
  const std::string stored = parse_completed_crc64nvme(response.text);
  const std::optional<std::uint64_t> sent = crc64nvme_of(parts_);
  if (!stored.empty() && sent && stored != checksum_text(*sent)) {
    return on_wrong_bytes(std::move(*etag));
  }
  guard_.on_success();
  etag_ = std::move(etag);
  return finished();
}

// The parts were sent with their checksums, and this server did not compare them.
Exchange::Next CompleteUploadExchange::on_wrong_bytes(std::string etag) {
  const std::string& url = endpoint_->builder.endpoint_url();
  etag_ = s3rdmafs::fail(
      ErrorCode::kCorrupt,
      fmt::format("COMPLETE UPLOAD '{}': {} has stored other bytes than those of the parts", key_,
                  url));
  log::error("{}; the write fails and the object is removed", etag_.error().detail);
  shared_.metrics.put_verify_failures.add();
  Capabilities& capabilities = endpoint_->capabilities;
  // With several servers it is not known which one read a part wrong.
  const bool is_by_rdma =
      capabilities.of(TransferKind::kUploadPart).state() == Capability::State::kWorks;
  if (is_by_rdma && shared_.endpoints.size() == 1) capabilities.on_wrong_bytes();
  wrong_etag_ = std::move(etag);
  return send_again();
}

// The operation fails in any case. 412: another object has replaced the wrong one.
Exchange::Next CompleteUploadExchange::on_removal(HttpOutcome outcome) {
  if (!outcome) return failed(std::move(outcome.error().error));
  const bool is_gone = outcome->status < 300 || outcome->status == 404 || outcome->status == 412;
  if (is_gone) return finished();
  return refused(*endpoint_, "DELETE", key_, *outcome, parse_error(outcome->text));
}

Exchange::Next CompleteUploadExchange::on_error(const HttpResponse& response,
                                                const S3Error& error) {
  if (has_checksums_ && endpoint_->checksums.is_refusal(response.status, error)) {
    return send_again();
  }
  const int status = status_of(response.status, error);
  const bool is_upload_gone = is_missing_in_bucket(status, error) && error.code != "NoSuchKey";
  if (!is_upload_gone && guard_.is_conflict(status, error)) {
    has_conflict_ = true;
    return on_conflict();
  }
  if (is_missing_in_bucket(status, error) && may_have_taken_effect_) {
    is_checking_effect_ = true;
    return send_again();
  }
  if (guard_.is_refusal(status, error)) return send_again();
  return refused(*endpoint_, "COMPLETE UPLOAD", key_, response, error);
}

Exchange::Next CompleteUploadExchange::on_conflict() {
  if (may_have_taken_effect_) {
    is_checking_effect_ = true;
    return send_again();
  }
  return failed(guard_.conflict(fmt::format("COMPLETE UPLOAD '{}'", key_)));
}

bool CompleteUploadExchange::is_ours(const HttpResponse& head) const {
  if (!head.is_success() || !may_be_made_of(head.headers.etag, parts_)) return false;
  std::uint64_t size_bytes = 0;
  bool is_size_known = true;
  for (const UploadedPart& part : parts_) {
    size_bytes += part.size_bytes;
    is_size_known = is_size_known && part.size_bytes > 0;
  }
  if (is_size_known && head.headers.content_length != size_bytes) return false;
  const std::optional<std::uint64_t> sent = crc64nvme_of(parts_);
  const std::string& stored = head.headers.checksum_crc64nvme;
  if (!stored.empty() && sent) return stored == checksum_text(*sent);
  return !is_same_etag(head.headers.etag, guard_.when().etag);  // else still the old version
}

Exchange::Next CompleteUploadExchange::on_head(const HttpResponse& response) {
  if (is_ours(response)) {
    etag_ = response.headers.etag;
    return finished();
  }
  if (!response.is_success() && response.status != 404) return on_error(response, {});
  if (has_conflict_) return failed(guard_.conflict(fmt::format("COMPLETE UPLOAD '{}'", key_)));
  return failed(ErrorCode::kNotFound,
                fmt::format("COMPLETE UPLOAD '{}': the upload is gone, and its object does not "
                            "exist: aborted by another client or a life-cycle rule",
                            key_));
}

void CompleteUploadExchange::fail(Error error) {
  if (!wrong_etag_.empty()) {
    log::error("'{}': the object with wrong bytes could not be removed: {}; remove it by hand",
               key_, error.detail);
    return;
  }
  etag_ = std::unexpected(std::move(error));
}

void CompleteUploadExchange::finish() { done_(std::move(etag_)); }

}  // namespace s3rdmafs::s3
