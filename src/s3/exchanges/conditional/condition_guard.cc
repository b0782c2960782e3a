// SPDX-License-Identifier: Apache-2.0
//
// Why a probe. A server that ignores If-Match answers as one whose key was in the right state. So
// the first conditional PUT of an endpoint is preceded by one that must fail: If-Match of no
// version, for a random key that does not exist. A server that compares refuses it, and nothing is
// stored; it compares If-None-Match too, since servers learned that earlier. Of any other server
// If-None-Match is probed by itself, with the empty object that it stored. Cost: one request for
// each endpoint that compares, at most four for another. PUTs that come while the probe runs ask by
// HEAD, as other requests do until an HTTP 412 shows that the server compares.
//
// The gap after a HEAD. Another client may store a version between the HEAD and the request. The
// header goes along unless it is refused, since the server may compare it after all.
#include "s3/exchanges/conditional/condition_guard.h"

#include <algorithm>
#include <array>
#include <utility>

#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// No object has it: an MD5 sum of nothing but zeros.
constexpr std::string_view kNoVersion = "\"00000000000000000000000000000000\"";

/// Whether the server may refuse a header by this answer. HTTP 400 has many other meanings.
bool refuses_header(int http_status, const S3Error& error) {
  if (http_status == 501) return true;
  constexpr auto kCodes = std::to_array<std::string_view>(
      {"", "NotImplemented", "NotSupported", "InvalidArgument", "InvalidRequest"});
  return http_status == 400 && std::ranges::find(kCodes, error.code) != kCodes.end();
}

}  // namespace

Result<HttpRequest> build_head(Endpoint& endpoint, std::string_view key) {
  return endpoint.builder.build(
      {.method = HttpMethod::kHead, .key = key, .headers = {{"x-amz-checksum-mode", "ENABLED"}}});
}

ConditionGuard::~ConditionGuard() {
  if (step_ == Step::kProbe) endpoint_->conditions.on_probe_lost(kind_);
}

std::optional<Result<HttpRequest>> ConditionGuard::request_before(Endpoint& endpoint) {
  step_ = Step::kNone;
  endpoint_ = &endpoint;
  if (!is_needed()) return std::nullopt;
  if (std::exchange(was_asked_, false)) return std::nullopt;
  if (std::exchange(probes_absent_, false)) {
    step_ = Step::kProbeAbsent;
    return build_probe({{"if-none-match", "*"}});
  }
  if (probe_.may_be_there()) {
    step_ = Step::kRemoveProbe;
    return probe_.build_removal(endpoint);
  }
  if (!has_probed_ && endpoint.conditions.begin_probe(kind_)) {
    has_probed_ = true;
    step_ = Step::kProbe;
    probe_.begin(key_);
    return build_probe({{"if-match", std::string(kNoVersion)}});
  }
  if (endpoint.conditions.compares(kind_, when_.kind) && !drops_header_) return std::nullopt;
  step_ = Step::kAsk;
  return build_head(endpoint, key_);
}

Result<HttpRequest> ConditionGuard::build_probe(NameValues condition) {
  Result<HttpRequest> request = endpoint_->builder.build(
      {.method = HttpMethod::kPut, .key = probe_.key(), .headers = std::move(condition)});
  if (request) {
    request->text_bytes_max = kErrorTextBytesMax;
    request->send_once = true;  // a resend would meet the object that the first has stored
  }
  return request;
}

std::optional<Exchange::Next> ConditionGuard::on_outcome(const HttpOutcome& outcome) {
  const Step step = std::exchange(step_, Step::kNone);
  if (step != Step::kAsk) return on_probe_outcome(step, outcome);
  if (!outcome) return Exchange::failed(outcome.error().error);
  return on_asked(*outcome);
}

Exchange::Next ConditionGuard::on_probe_outcome(Step step, const HttpOutcome& outcome) {
  if (step == Step::kRemoveProbe) return probe_.on_removed(*endpoint_, outcome);
  if (!outcome) {
    if (step == Step::kProbe) endpoint_->conditions.on_probe_lost(kind_);
    probes_absent_ = step == Step::kProbeAbsent;
    // It may have been stored by a server that ignores the header.
    if (outcome.error().may_have_reached_server) probe_.on_stored();
    return Exchange::failed(outcome.error().error);
  }
  if (step == Step::kProbe) return on_probed(*outcome);
  on_absent_probed(*outcome);
  return Exchange::send_again();
}

Exchange::Next ConditionGuard::on_probed(const HttpResponse& response) {
  ConditionSupport& conditions = endpoint_->conditions;
  const S3Error error = response.is_success() ? S3Error{} : parse_error(response.text);
  const int status = response.status;
  if (status == 412 || is_missing_in_bucket(status, error)) {
    conditions.on_compared(kind_, Precondition::Kind::kMatches);
    return Exchange::send_again();
  }
  if (response.is_success()) {
    conditions.on_ignored(kind_, Precondition::Kind::kMatches);
    probe_.on_stored();
  } else if (refuses_header(status, error)) {
    conditions.on_refused(kind_, Precondition::Kind::kMatches);
  } else {  // it tells nothing about conditions: this request asks by HEAD, a later one probes
    conditions.on_probe_lost(kind_);
    return Exchange::send_again();
  }
  probes_absent_ = true;
  log::info("endpoint {} does not compare If-Match of a PUT (HTTP {}); a HEAD goes before each",
            endpoint_->builder.endpoint_url(), status);
  return Exchange::send_again();
}

// Success tells only where the probe's object is there already.
void ConditionGuard::on_absent_probed(const HttpResponse& response) {
  ConditionSupport& conditions = endpoint_->conditions;
  constexpr auto kHeader = Precondition::Kind::kAbsent;
  if (response.status == 412) {
    conditions.on_compared(kind_, kHeader);
  } else if (response.is_success()) {
    if (probe_.may_be_there()) conditions.on_ignored(kind_, kHeader);
    probes_absent_ = !probe_.may_be_there();
    probe_.on_stored();
  } else if (refuses_header(response.status, parse_error(response.text))) {
    conditions.on_refused(kind_, kHeader);
  }
}

std::optional<Exchange::Next> ConditionGuard::on_asked(const HttpResponse& response) {
  const bool is_absent = is_missing_in_bucket(response.status, {});
  if (!response.is_success() && !is_absent) {
    return Exchange::refused(*endpoint_, "HEAD", key_, response, {});
  }
  const bool holds = when_.kind == Precondition::Kind::kAbsent
                         ? is_absent
                         : !is_absent && is_same_etag(response.headers.etag, when_.etag);
  if (!holds) return std::nullopt;
  was_asked_ = true;
  return Exchange::send_again();
}

void ConditionGuard::add_header(NameValues& headers) {
  sent_header_ = is_needed() && !drops_header_ && !endpoint_->conditions.refuses(kind_, when_.kind);
  if (!sent_header_) return;
  if (when_.kind == Precondition::Kind::kAbsent) {
    headers.emplace_back("if-none-match", "*");
  } else {
    headers.emplace_back("if-match", quoted_etag(when_.etag));
  }
}

bool ConditionGuard::is_conflict(int http_status, const S3Error& error) {
  if (!is_needed()) return false;
  // Of a copy the source's condition may be meant.
  if (http_status == 412 && sent_header_ && kind_ != ConditionKind::kCopy) {
    endpoint_->conditions.on_compared(kind_, when_.kind);
  }
  const bool is_gone = when_.kind == Precondition::Kind::kMatches && http_status == 404 &&
                       (error.code.empty() || error.code == "NoSuchKey");
  return http_status == 412 || is_gone;
}

bool ConditionGuard::is_refusal(int http_status, const S3Error& error) {
  if (!sent_header_ || endpoint_->conditions.compares(kind_, when_.kind)) return false;
  if (!refuses_header(http_status, error)) return false;
  sent_header_ = false;
  drops_header_ = true;
  return true;
}

void ConditionGuard::on_success() {
  if (!std::exchange(drops_header_, false)) return;
  endpoint_->conditions.on_refused(kind_, when_.kind);
  log::info("endpoint {} refuses a condition; a HEAD goes before each such request instead",
            endpoint_->builder.endpoint_url());
}

Error ConditionGuard::conflict(std::string_view what) const {
  if (when_.kind == Precondition::Kind::kAbsent) {
    return {ErrorCode::kExists, fmt::format("{}: the key exists already", what)};
  }
  return {ErrorCode::kStale,
          fmt::format("{}: the key does not have version {} any more", what, when_.etag)};
}

}  // namespace s3rdmafs::s3
