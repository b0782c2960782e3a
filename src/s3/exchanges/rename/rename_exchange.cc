// SPDX-License-Identifier: Apache-2.0
//
// Lost answers. A repetition carries the same token, which a server that made the rename answers
// with success. One that keeps no tokens finds the source gone, or with another client's version: a
// HEAD of the new key then tells whether it has ours, by the ETag, which a rename keeps. A HEAD of
// the old key tells that from another client's object of the same bytes: our source would still be
// there. Any refusal of a repetition is looked at so, since the first attempt may have succeeded.
//
// A success that is none. One address may lead to several servers, of which the probe has met one;
// another takes the request for a PUT of nothing. Its answer has the ETag of the empty object,
// which a rename's answer has not. A HEAD of the source decides: it is still there, so what was
// stored is removed again, nothing is renamed here any more, and the caller copies. An object that
// the new key had is lost then, as it is by the copy; readers may see an empty object in between.
#include "s3/exchanges/rename/rename_exchange.h"

#include "s3/exchanges/rename/rename_request.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

RenameExchange::RenameExchange(CopySource source, std::string key, Precondition when,
                               Done<std::string> done)
    : source_(std::move(source)),
      key_(std::move(key)),
      client_token_(new_client_token()),
      probe_(key_),
      guard_(key_, std::move(when), ConditionKind::kRename),
      done_(std::move(done)),
      etag_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void RenameExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  switch (step_) {
    case Step::kHasKey:
      return ready(build_head(endpoint, key_));
    case Step::kHasSource:
      return ready(build_head(endpoint, source_.key));
    case Step::kRemoveStored:
      return ready(endpoint.builder.build({.method = HttpMethod::kDelete,
                                           .key = key_,
                                           .headers = {{"if-match", quoted_etag(stored_etag_)}}}));
    case Step::kRename:
      break;
  }
  if (auto before = probe_.request_before(endpoint)) return ready(std::move(*before));
  if (!endpoint.renames.works()) {
    if (!may_have_taken_effect_) return ready(std::unexpected(unsupported()));
    step_ = Step::kHasKey;
    return ready(build_head(endpoint, key_));
  }
  if (auto before = guard_.request_before(endpoint)) return ready(std::move(*before));
  ready(build());
}

Result<HttpRequest> RenameExchange::build() {
  NameValues conditions = {{"x-amz-rename-source-if-match", quoted_etag(source_.etag)}};
  guard_.add_header(conditions);
  return build_rename(*endpoint_, source_.key, key_, client_token_, std::move(conditions));
}

Exchange::Next RenameExchange::on_outcome(HttpOutcome outcome) {
  if (probe_.is_asking()) return probe_.on_outcome(outcome);
  if (guard_.is_asking()) return on_guarded(outcome);
  if (step_ == Step::kRemoveStored) return on_removed(outcome);
  if (outcome) {
    switch (step_) {
      case Step::kHasKey:
        return on_key(*outcome);
      case Step::kHasSource:
        return on_source(*outcome);
      default:
        return on_answer(*outcome);
    }
  }
  if (step_ == Step::kRename && outcome.error().may_have_reached_server) {
    may_have_taken_effect_ = true;
  }
  return failed(std::move(outcome.error().error));
}

Exchange::Next RenameExchange::on_guarded(const HttpOutcome& outcome) {
  std::optional<Next> next = guard_.on_outcome(outcome);
  if (next) return std::move(*next);
  if (may_have_taken_effect_) return on_key(*outcome);
  return failed(guard_.conflict(what()));
}

Exchange::Next RenameExchange::on_answer(const HttpResponse& response) {
  const S3Error error = parse_error(response.text);
  if (!response.is_success() || !error.code.empty()) return on_error(response, error);
  const std::string& etag = response.headers.etag;
  const bool is_like_a_put = source_.size_bytes == 0 || !is_same_etag(etag, source_.etag);
  if (!etag.empty() && is_like_a_put) {
    stored_etag_ = etag;
    return ask(Step::kHasSource);
  }
  guard_.on_success();
  etag_ = source_.etag;
  return finished();
}

Exchange::Next RenameExchange::on_error(const HttpResponse& response, const S3Error& error) {
  const int status = status_of(response.status, error);
  if (may_take_effect_later(status, error)) may_have_taken_effect_ = true;
  if (status == 412 || (status == 404 && error.code == "NoSuchKey")) {
    if (may_have_taken_effect_ || guard_.is_needed()) return ask(Step::kHasKey);
    return failed(source_is_stale());
  }
  if (guard_.is_refusal(status, error)) return send_again();
  const bool has_no_route = status == 404 && error.code.empty();
  const bool lacks_operation = has_no_route || refuses_rename(status, error);
  if (lacks_operation && status != 400) {  // 400: it does not take these keys
    endpoint_->renames.on_lacks();
  }
  if (may_have_taken_effect_ && (lacks_operation || status == 403 || status == 404)) {
    is_repetition_refused_ = true;
    return ask(Step::kHasKey);
  }
  if (lacks_operation) return failed(unsupported());
  return refused(*endpoint_, "RENAME", source_.key, response, error);
}

Exchange::Next RenameExchange::on_key(const HttpResponse& response) {
  const bool is_absent = is_missing_in_bucket(response.status, {});
  if (!response.is_success() && !is_absent) {
    return refused(*endpoint_, "HEAD", key_, response, {});
  }
  step_ = Step::kRename;
  if (!stored_etag_.empty()) return take_version(response);
  if (may_have_taken_effect_ && !is_absent &&
      response.headers.content_length == source_.size_bytes &&
      is_same_etag(response.headers.etag, source_.etag)) {
    if (!is_source_there_) return ask(Step::kHasSource);
    return failed(guard_.is_needed() ? guard_.conflict(what()) : answer_is_lost());
  }
  if (!endpoint_->renames.works() || is_repetition_refused_) {  // it may happen yet
    return failed(answer_is_lost());
  }
  const bool is_required_absent = guard_.when().kind == Precondition::Kind::kAbsent;
  const bool holds =
      !guard_.is_needed() ||
      (is_required_absent ? is_absent : is_same_etag(response.headers.etag, guard_.when().etag));
  return failed(holds ? source_is_stale() : guard_.conflict(what()));
}

Exchange::Next RenameExchange::on_source(const HttpResponse& response) {
  const bool is_absent = is_missing_in_bucket(response.status, {});
  if (!response.is_success() && !is_absent) {
    return refused(*endpoint_, "HEAD", source_.key, response, {});
  }
  const bool is_gone = is_absent || !is_same_etag(response.headers.etag, source_.etag);
  if (stored_etag_.empty()) return on_source_of_same(is_gone);
  if (is_gone) return ask(Step::kHasKey);
  endpoint_->renames.on_lacks();
  log::error(
      "RENAME '{}' to '{}': endpoint {} has not renamed it, but stored an empty object; it is "
      "removed, and renames there copy and delete from now on",
      source_.key, key_, endpoint_->builder.endpoint_url());
  return ask(Step::kRemoveStored);
}

/// Both keys had the same bytes, or the rename was made.
Exchange::Next RenameExchange::on_source_of_same(bool is_gone) {
  if (is_gone) {
    etag_ = source_.etag;
    return finished();
  }
  is_source_there_ = true;
  const bool may_rename = !guard_.is_needed() && endpoint_->renames.works();
  return ask(may_rename && !is_repetition_refused_ ? Step::kRename : Step::kHasKey);
}

/// The version moved, and its ETag is another one now.
Exchange::Next RenameExchange::take_version(const HttpResponse& head) {
  if (!head.is_success() || head.headers.content_length != source_.size_bytes) {
    return failed(ErrorCode::kProtocol,
                  fmt::format("{}: the server reported success, and neither key has it", what()));
  }
  etag_ = head.headers.etag;
  return finished();
}

Exchange::Next RenameExchange::on_removed(const HttpOutcome& outcome) {
  if (!outcome) return failed(outcome.error().error);
  const bool is_gone = outcome->is_success() || outcome->status == 404 || outcome->status == 412;
  if (is_gone) return failed(unsupported());
  return refused(*endpoint_, "DELETE", key_, *outcome, parse_error(outcome->text));
}

Exchange::Next RenameExchange::ask(Step step) {
  step_ = step;
  return send_again();
}

Error RenameExchange::unsupported() const {
  return {ErrorCode::kUnsupported, fmt::format("{}: the server has no RenameObject", what())};
}

Error RenameExchange::answer_is_lost() const {
  return {ErrorCode::kServerError,
          fmt::format("{}: the answer was lost, and the new key does not have it", what())};
}

Error RenameExchange::source_is_stale() const {
  return {ErrorCode::kStale,
          fmt::format("{}: the source does not have version {} any more", what(), source_.etag)};
}

std::string RenameExchange::what() const {
  return fmt::format("RENAME '{}' to '{}'", source_.key, key_);
}

void RenameExchange::fail(Error error) { etag_ = std::unexpected(std::move(error)); }

void RenameExchange::finish() { done_(std::move(etag_)); }

}  // namespace s3rdmafs::s3
