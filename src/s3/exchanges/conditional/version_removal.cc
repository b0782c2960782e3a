// SPDX-License-Identifier: Apache-2.0
//
// An attempt that was not answered needs no care: if it removed the version, the next one finds
// none, or one of another client, which it leaves alone.
#include "s3/exchanges/conditional/version_removal.h"

#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

VersionRemoval::VersionRemoval(std::string key, std::string etag, Done<void> done)
    : key_(std::move(key)),
      guard_(key_, Precondition::matches(std::move(etag)), ConditionKind::kDelete),
      done_(std::move(done)),
      result_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void VersionRemoval::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  if (is_checking_) return ready(build_head(endpoint, key_));
  if (auto before = guard_.request_before(endpoint)) return ready(std::move(*before));
  ready(build());
}

Result<HttpRequest> VersionRemoval::build() {
  RequestSpec spec{.method = HttpMethod::kDelete, .key = key_};
  guard_.add_header(spec.headers);
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (request) {
    request->text_bytes_max = kErrorTextBytesMax;
    request->send_once = true;  // a resend by libcurl would go without a HEAD before it
  }
  return request;
}

Exchange::Next VersionRemoval::on_outcome(HttpOutcome outcome) {
  if (guard_.is_asking()) {
    std::optional<Next> next = guard_.on_outcome(outcome);
    return next ? std::move(*next) : on_head(*outcome);
  }
  if (!outcome) return failed(std::move(outcome.error().error));
  return is_checking_ ? on_head(*outcome) : on_answer(*outcome);
}

Exchange::Next VersionRemoval::on_answer(const HttpResponse& response) {
  const S3Error error = response.is_success() ? S3Error{} : parse_error(response.text);
  if (response.is_success() || is_missing_in_bucket(response.status, error)) {
    guard_.on_success();
    result_ = {};
    return finished();
  }
  if (guard_.is_conflict(response.status, error)) {  // some servers say so of a key without object
    is_checking_ = true;
    return send_again();
  }
  if (guard_.is_refusal(response.status, error)) return send_again();
  return refused(*endpoint_, "DELETE", key_, response, error);
}

Exchange::Next VersionRemoval::on_head(const HttpResponse& response) {
  if (is_missing_in_bucket(response.status, {})) {
    result_ = {};
    return finished();
  }
  if (!response.is_success()) return refused(*endpoint_, "HEAD", key_, response, {});
  const std::string what = fmt::format("DELETE '{}'", key_);
  // No other client changed it, so callers must not take it for replaced.
  if (is_same_etag(response.headers.etag, guard_.when().etag)) {
    return failed(ErrorCode::kProtocol,
                  fmt::format("{}: the server refuses it (HTTP 412), though the key has version {}",
                              what, guard_.when().etag));
  }
  return failed(guard_.conflict(what));
}

void VersionRemoval::fail(Error error) { result_ = std::unexpected(std::move(error)); }

void VersionRemoval::finish() { done_(std::move(result_)); }

}  // namespace s3rdmafs::s3
