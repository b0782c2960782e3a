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

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "s3/exchanges/rename/rename_request.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// Whether the answer says nothing of the operation: of the server's state, of the keys that we
/// sign with, or of the random key, which is longer than the one that is asked for.
bool is_passing(int status, const S3Error& error) {
  constexpr auto kCodes = std::to_array<std::string_view>(
      {"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed",
       "RequestExpired", "InvalidAccessKeyId", "SignatureDoesNotMatch", "KeyTooLongError",
       "RequestTimeout", "OperationAborted", "ConditionalRequestConflict"});
  return status == 401 || status == 408 || status == 409 || status == 429 ||
         (status >= 500 && status != 501) || std::ranges::find(kCodes, error.code) != kCodes.end();
}

}  // namespace

RenameProbe::~RenameProbe() {
  if (step_ == Step::kProbe) endpoint_->renames.on_probe_lost();
}

std::optional<Result<HttpRequest>> RenameProbe::request_before(Endpoint& endpoint) {
  step_ = Step::kNone;
  endpoint_ = &endpoint;
  if (object_.may_be_there()) {
    step_ = Step::kRemove;
    return object_.build_removal(endpoint);
  }
  if (has_probed_ || !endpoint.renames.begin_probe()) return std::nullopt;
  has_probed_ = true;
  step_ = Step::kProbe;
  return build_rename(endpoint, probe_key(key_), object_.begin(key_), new_client_token(),
                      {{"if-none-match", "*"}});
}

Exchange::Next RenameProbe::on_outcome(const HttpOutcome& outcome) {
  const Step step = std::exchange(step_, Step::kNone);
  if (step == Step::kRemove) return object_.on_removed(*endpoint_, outcome);
  if (outcome) return on_probed(*outcome);
  const HttpFailure& failure = outcome.error();
  if (failure.may_have_reached_server) object_.on_stored();
  if (failure.error.code != ErrorCode::kTimedOut) {
    endpoint_->renames.on_probe_lost();
    return Exchange::failed(failure.error);
  }
  // A server that is silent to what it does not know must not cost each rename a deadline.
  endpoint_->renames.on_lacks();
  log::warn("endpoint {} does not answer RenameObject; a rename copies and deletes",
            endpoint_->builder.endpoint_url());
  return Exchange::failed(ErrorCode::kUnsupported, "RenameObject was not answered");
}

Exchange::Next RenameProbe::on_probed(const HttpResponse& response) {
  RenameSupport& renames = endpoint_->renames;
  const S3Error error = parse_error(response.text);
  const int status = status_of(response.status, error);
  const std::string& url = endpoint_->builder.endpoint_url();
  if (status == 404 && error.code == "NoSuchKey") {
    renames.on_works();
    log::info("endpoint {} has RenameObject; a rename is one request", url);
  } else if (is_passing(status, error)) {  // a later rename probes
    renames.on_probe_lost();
    object_.on_stored();
  } else {
    renames.on_lacks();
    if (response.is_success()) object_.on_stored();
    log::info("endpoint {} has no RenameObject (HTTP {}); a rename copies and deletes", url,
              status);
  }
  return Exchange::send_again();
}

}  // namespace s3rdmafs::s3
