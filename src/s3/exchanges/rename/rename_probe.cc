// SPDX-License-Identifier: Apache-2.0
//
// The probe asks for a rename of a random key that does not exist to another one. A server that has
// the operation looks for the source and does not find it: 404 NoSuchKey, which no PUT of a new key
// is answered with. One that ignores the query stores an empty object under the random key and
// reports success; that is removed. Anything else is a refusal. So no key of anybody is touched,
// and If-None-Match makes certain that none is replaced.
//
// Cost, once for each endpoint: one request, or two where the server ignores the query.
#include "s3/exchanges/rename/rename_probe.h"

#include "s3/exchanges/probe_key.h"
#include "s3/exchanges/rename/rename_request.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

RenameProbe::~RenameProbe() {
  if (step_ == Step::kProbe) endpoint_->renames.on_probe_lost();
  if (may_have_stored_) {
    spdlog::warn(
        "test object '{}' may be left: its removal was not sent in time; remove it by hand",
        probe_key_);
  }
}

std::optional<Result<HttpRequest>> RenameProbe::request_before(Endpoint& endpoint) {
  step_ = Step::kNone;
  endpoint_ = &endpoint;
  if (may_have_stored_) {
    step_ = Step::kRemove;
    return endpoint.builder.build({.method = HttpMethod::kDelete, .key = probe_key_});
  }
  if (has_probed_ || !endpoint.renames.begin_probe()) return std::nullopt;
  has_probed_ = true;
  step_ = Step::kProbe;
  probe_key_ = probe_key(key_);
  return build_rename(endpoint, probe_key(key_), probe_key_, new_client_token(),
                      {{"if-none-match", "*"}});
}

Exchange::Next RenameProbe::on_outcome(const HttpOutcome& outcome) {
  const Step step = std::exchange(step_, Step::kNone);
  if (step == Step::kRemove) return on_removed(outcome);
  if (outcome) return on_probed(*outcome);
  endpoint_->renames.on_probe_lost();
  may_have_stored_ = outcome.error().may_have_reached_server;
  return Exchange::failed(outcome.error().error);
}

Exchange::Next RenameProbe::on_probed(const HttpResponse& response) {
  RenameSupport& renames = endpoint_->renames;
  const S3Error error = parse_error(response.text);
  const int status = status_of(response.status, error);
  const std::string& url = endpoint_->builder.endpoint_url();
  if (status == 404 && error.code == "NoSuchKey") {
    renames.on_works();
    spdlog::info("endpoint {} has RenameObject; a rename is one request", url);
  } else if (status == 429 || (status >= 500 && status != 501)) {  // a later rename probes
    renames.on_probe_lost();
    may_have_stored_ = true;
  } else {
    renames.on_lacks();
    may_have_stored_ = response.is_success();
    spdlog::info("endpoint {} has no RenameObject (HTTP {}); a rename copies and deletes", url,
                 status);
  }
  return Exchange::send_again();
}

// An error that may pass is waited out once, at the cost of an attempt.
Exchange::Next RenameProbe::on_removed(const HttpOutcome& outcome) {
  const bool is_gone = outcome && (outcome->is_success() || outcome->status == 404);
  if (!is_gone && !std::exchange(has_failed_to_remove_, true)) {
    Exchange::Next next = outcome ? Exchange::refused(*endpoint_, "DELETE", probe_key_, *outcome,
                                                      parse_error(outcome->text))
                                  : Exchange::failed(outcome.error().error);
    if (is_retryable(next.error.code)) return next;
  }
  may_have_stored_ = false;
  if (!is_gone) {
    spdlog::warn("test object '{}' could not be removed: {}; remove it by hand", probe_key_,
                 outcome ? fmt::format("HTTP {}", outcome->status) : outcome.error().error.detail);
  }
  return Exchange::send_again();
}

}  // namespace s3rdmafs::s3
