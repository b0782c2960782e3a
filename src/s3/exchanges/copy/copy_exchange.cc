// SPDX-License-Identifier: Apache-2.0
//
// HTTP 412 can mean the source or the key that is copied to. A HEAD of the key decides: the key is
// in the state required, so the source is not; or it is not, and then either an attempt of ours
// that was never answered has taken effect, or another client has stored something there.
#include "s3/exchanges/copy/copy_exchange.h"

#include "s3/exchanges/copy/copy_request.h"
#include "s3/wire/stored_headers.h"
#include "s3/wire/user_metadata.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

CopyExchange::CopyExchange(CopySource source, std::string key, CopyOptions options,
                           Done<std::string> done)
    : source_(std::move(source)),
      key_(std::move(key)),
      metadata_(std::move(options.metadata)),
      headers_(std::move(options.headers)),
      guard_(key_, std::move(options.when), ConditionKind::kCopy),
      done_(std::move(done)),
      etag_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void CopyExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  if (is_checking_effect_) return ready(build_head(endpoint, key_));
  if (auto before = guard_.request_before(endpoint)) return ready(std::move(*before));
  ready(build());
}

Result<HttpRequest> CopyExchange::build() {
  RequestSpec spec{
      .method = HttpMethod::kPut, .key = key_, .headers = copy_source_headers(*endpoint_, source_)};
  spec.headers.emplace_back("x-amz-metadata-directive", metadata_ ? "REPLACE" : "COPY");
  if (metadata_) {
    add_stored_headers(spec.headers, headers_);
    add_user_metadata(spec.headers, *metadata_);
  }
  guard_.add_header(spec.headers);
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (request) finish_copy_request(*request, source_.size_bytes);
  return request;
}

Exchange::Next CopyExchange::on_outcome(HttpOutcome outcome) {
  if (guard_.is_asking()) return on_guarded(outcome);
  if (outcome) return is_checking_effect_ ? on_head(*outcome) : on_answer(*outcome);
  if (!is_checking_effect_ && outcome.error().may_have_reached_server) {
    may_have_taken_effect_ = true;
  }
  return failed(std::move(outcome.error().error));
}

Exchange::Next CopyExchange::on_guarded(const HttpOutcome& outcome) {
  std::optional<Next> next = guard_.on_outcome(outcome);
  if (next) return std::move(*next);
  if (may_have_taken_effect_) return on_head(*outcome);
  return failed(guard_.conflict(what()));
}

Exchange::Next CopyExchange::on_answer(const HttpResponse& response) {
  const S3Error error = copy_error(response);
  if (!response.is_success() || !error.code.empty()) return on_error(response, error);
  Result<std::string> etag = parse_copied_etag(response.text);
  if (!etag) {  // a success of an unknown form, or half an answer: a HEAD decides
    may_have_taken_effect_ = true;
    unclear_answer_ = {ErrorCode::kProtocol,
                       fmt::format("{}: the server reported success without a result, and the key "
                                   "does not hold the copy",
                                   what())};
    return check_effect();
  }
  guard_.on_success();
  etag_ = std::move(etag);
  return finished();
}

Exchange::Next CopyExchange::on_error(const HttpResponse& response, const S3Error& error) {
  const int status = status_of(response.status, error);
  if (may_take_effect_later(status, error)) may_have_taken_effect_ = true;
  const bool is_source_gone = status == 404 && error.code == "NoSuchKey";
  if (status == 412 || is_source_gone) {
    // Without a condition, the key's bytes say nothing about an earlier attempt, unless the key is
    // the source and its new version has another ETag.
    const bool is_to_itself = key_ == source_.key && may_have_taken_effect_;
    if (guard_.is_needed() || is_to_itself) return check_effect();
    return failed(source_is_stale());
  }
  if (guard_.is_refusal(status, error)) return send_again();
  Next next = refused(*endpoint_, "COPY", source_.key, response, error);
  if (is_copy_unsupported(response, error)) next.error.code = ErrorCode::kUnsupported;
  return next;
}

Exchange::Next CopyExchange::check_effect() {
  is_checking_effect_ = true;
  return send_again();
}

Exchange::Next CopyExchange::on_head(const HttpResponse& response) {
  const bool is_absent = is_missing_in_bucket(response.status, {});
  if (!response.is_success() && !is_absent) {
    return refused(*endpoint_, "HEAD", key_, response, {});
  }
  is_checking_effect_ = false;
  if (may_have_taken_effect_ && is_ours(response)) {
    etag_ = response.headers.etag;
    return finished();
  }
  if (unclear_answer_) return failed(std::move(*unclear_answer_));
  const bool is_required_absent = guard_.when().kind == Precondition::Kind::kAbsent;
  const bool holds =
      !guard_.is_needed() ||
      (is_required_absent ? is_absent : is_same_etag(response.headers.etag, guard_.when().etag));
  return failed(holds ? source_is_stale() : guard_.conflict(what()));
}

// The caller may remove the source after this, so an object of the same length is not proof: other
// clients' files are often as long. A copy of one part keeps its ETag; after a longer one the
// caller hears of a conflict, and nothing is lost.
bool CopyExchange::is_ours(const HttpResponse& head) const {
  if (!head.is_success() || head.headers.content_length != source_.size_bytes) return false;
  if (is_same_etag(head.headers.etag, guard_.when().etag)) return false;  // still the old version
  const bool is_to_itself = key_ == source_.key;
  // Metadata is proof as far as there is some: a new file mostly has none.
  if (metadata_ && (is_to_itself || !metadata_->empty())) {
    return has_user_metadata(head.headers, *metadata_);
  }
  return is_same_etag(head.headers.etag, source_.etag);
}

Error CopyExchange::source_is_stale() const {
  return {ErrorCode::kStale,
          fmt::format("{}: the source does not have version {} any more", what(), source_.etag)};
}

std::string CopyExchange::what() const {
  return fmt::format("COPY '{}' to '{}'", source_.key, key_);
}

void CopyExchange::fail(Error error) { etag_ = std::unexpected(std::move(error)); }

void CopyExchange::finish() { done_(std::move(etag_)); }

}  // namespace s3rdmafs::s3
