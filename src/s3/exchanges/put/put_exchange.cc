// SPDX-License-Identifier: Apache-2.0
//
// The zero-byte hazard. A PUT with a token has no body. A server that ignores the token stores an
// empty object, answers 200 and destroys what was there. So a whole object goes by token only to an
// endpoint known to read by RDMA (Capabilities::is_known_to_read). If it happens all the same, or
// the server reports another number of bytes, the object is stored again with a body at once,
// whatever rdma.mode says. If that fails too, PutSequence removes it. Parts are harmless: they are
// not visible before the upload is complete.
//
// Wrong bytes. The fabric may deliver other bytes to a server that then reports success: not every
// server compares the checksum that comes with a PUT. rdma.verify compares some objects after they
// were stored. One that differs fails its write, and PutSequence removes it.
//
// Late reads. The server may read the window of an unanswered attempt at any later time. The same
// bytes may be sent again from the same window, so the attempt is repeated. But the window must not
// get other bytes before its region was fenced, which the outcome says.
#include "s3/exchanges/put/put_exchange.h"

#include "s3/wire/object_checksum.h"
#include "s3/wire/stored_headers.h"
#include "s3/wire/user_metadata.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

using Step = Exchange::Next::Step;

std::string describe(const PutExchange::Put& put) {
  if (put.upload_id.empty()) {
    return fmt::format("PUT '{}', {} bytes", put.key, put.body.window.length);
  }
  return fmt::format("PUT '{}', part {}, {} bytes", put.key, put.part_number,
                     put.body.window.length);
}

}  // namespace

PutExchange::PutExchange(TransferShared& shared, Put put, EndedDone done)
    : shared_(shared),
      put_(std::move(put)),
      policy_(shared, put_.upload_id.empty() ? TransferKind::kPut : TransferKind::kUploadPart,
              put_.body.window, describe(put_)),
      guard_(put_.key, put_.options.when, ConditionKind::kPut),
      done_(std::move(done)),
      ended_{.outcome = {.etag = s3rdmafs::fail(ErrorCode::kCancelled, "")}, .wrong_object = {}} {
  if (put_.is_probe) policy_.ignore_threshold();
  if (put_.is_probe && put_.upload_id.empty()) policy_.probe_whole_put();
  if (put_.is_by_http) policy_.use_http();
}

void PutExchange::next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) {
  if (put_.only_at != nullptr && put_.only_at != &endpoint) {
    return ready(s3rdmafs::fail(ErrorCode::kUnsupported,
                                policy_.what() + ": the server that it was for is not available"));
  }
  endpoint_ = &endpoint;
  ended_.unknown_endpoint = nullptr;
  if (verifier_) return ready(verifier_->build(endpoint));
  if (is_checking_owner_) {
    has_token_ = false;
    return ready(build_head(endpoint, put_.key));
  }
  if (!ended_.wrong_object) {
    if (auto before = guard_.request_before(endpoint)) return ready(std::move(*before));
  }
  policy_.prepare(endpoint, deadline, [this, ready = std::move(ready)](Result<void> can) mutable {
    if (!can) {
      const bool is_whole = put_.upload_id.empty();
      if (is_whole && !endpoint_->capabilities.is_known_to_read()) {
        ended_.unknown_endpoint = endpoint_;
      }
      return ready(std::unexpected(std::move(can.error())));
    }
    Result<HttpRequest> request = build();
    if (!request) policy_.on_unsent();
    if (request && has_token_) ended_.was_sent_by_token = true;
    ready(std::move(request));
  });
}

Result<HttpRequest> PutExchange::build() {
  RequestSpec spec{.method = HttpMethod::kPut,
                   .key = put_.key,
                   .headers = {},
                   .payload_hash = std::string(kUnsignedPayload)};
  if (!put_.upload_id.empty()) {
    spec.query = {{"partNumber", std::to_string(put_.part_number)}, {"uploadId", put_.upload_id}};
  }
  has_checksum_ = endpoint_->checksums.takes_crc64nvme();
  if (has_checksum_) {
    spec.headers.emplace_back("x-amz-checksum-crc64nvme", checksum_text(put_.body.crc64nvme));
  }
  add_stored_headers(spec.headers, put_.options.headers);
  add_user_metadata(spec.headers, put_.options.metadata);
  add_condition(spec.headers);
  has_token_ = policy_.add_token(spec);
  if (put_.is_probe && !has_token_) {
    return s3rdmafs::fail(ErrorCode::kUnsupported, policy_.what() + ": no token for the probe");
  }
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (!request) return request;
  if (!has_token_ && put_.body.window.length > 0) request->body = put_.body.window.bytes();
  request->text_bytes_max = kErrorTextBytesMax;
  request->send_once = has_token_ || guard_.is_needed();
  request->has_rdma_token = has_token_;
  request->source_address = policy_.source_address();
  return request;
}

void PutExchange::add_condition(NameValues& headers) {
  if (!ended_.wrong_object) return guard_.add_header(headers);
  // Our own first attempt left it.
  const std::string& etag = ended_.wrong_object->etag;
  if (guard_.is_needed() && !etag.empty()) headers.emplace_back("if-match", etag);
}

Exchange::Next PutExchange::on_outcome(HttpOutcome outcome) {
  if (verifier_) return on_compared(std::move(outcome));
  if (guard_.is_asking()) return on_guarded(std::move(outcome));
  if (outcome) {
    policy_.on_connected();
    return is_checking_owner_ ? on_head(*outcome) : on_answer(*outcome);
  }
  HttpFailure failure = std::move(outcome.error());
  if (policy_.goes_another_way(failure)) return send_again();
  policy_.on_no_answer(failure);
  if (failure.may_have_reached_server && !is_checking_owner_) {
    keep_in_doubt();
    if (has_token_) ended_.outcome.late_read_possible = true;
  }
  return failed(std::move(failure.error));
}

void PutExchange::keep_in_doubt() {
  may_have_taken_effect_ = true;
  unanswered_path_ = has_token_ ? Path::kRdma : Path::kHttp;
}

Exchange::Next PutExchange::on_answer(const HttpResponse& response) {
  const S3Error error = response.is_success() ? S3Error{} : parse_error(response.text);
  if (may_take_effect_later(response.status, error)) {
    keep_in_doubt();
    // A gateway's answer: the server may be reading yet.
    const bool is_of_gateway = response.status == 502 || response.status == 504;
    if (has_token_ && is_of_gateway) ended_.outcome.late_read_possible = true;
  }
  if (has_checksum_ && endpoint_->checksums.is_refusal(response.status, error)) {
    policy_.on_answer({rdma::Verdict::kS3Error, "s3_error"});  // it says nothing about RDMA
    return send_again();
  }
  if (has_token_) return on_rdma_answer(response, error);
  if (!response.is_success()) return s3_error(response, error);
  return finish_with(response, Path::kHttp);
}

Exchange::Next PutExchange::on_rdma_answer(const HttpResponse& response, const S3Error& error) {
  rdma::Decision decision = rdma::judge_put(reply_facts(response, error, put_.body.window.length));
  if (is_checksum_mismatch(error)) decision = {rdma::Verdict::kTransferFailed, "checksum_mismatch"};
  policy_.on_answer(decision);
  if (!put_.upload_id.empty() && response.status == 501) {
    endpoint_->capabilities.on_parts_refused();
  }
  if (decision.verdict == rdma::Verdict::kDoneByRdma) return finish_with(response, Path::kRdma);
  if (decision.verdict == rdma::Verdict::kS3Error) return s3_error(response, error);
  return fall_back(decision, response, error);
}

Exchange::Next PutExchange::fall_back(const rdma::Decision& decision, const HttpResponse& response,
                                      const S3Error& error) {
  if (put_.is_probe) {
    return failed(ErrorCode::kUnsupported,
                  fmt::format("{}: HTTP {}, {}", policy_.what(), response.status, decision.reason));
  }
  // "declined" promises that nothing was stored; any other success may have stored something.
  const bool is_unconfirmed =
      put_.upload_id.empty() && response.is_success() && decision.reason != "declined";
  Result<void> can = policy_.fall_back(decision, response.status);
  if (is_unconfirmed) {
    log::error(
        "{}: the server reported success without confirming the RDMA read ({}); the object is "
        "stored again by HTTP",
        policy_.what(), decision.reason);
    shared_.metrics.puts_stored_wrong.add();
    endpoint_->capabilities.on_unconfirmed_put();
    ended_.wrong_object = WrongObject{response.headers.etag};
    if (!can) require_failed_ = std::move(can.error());
    policy_.use_http();
    return send_again();
  }
  if (!can) return {.step = Step::kLeaveOut, .error = std::move(can.error())};
  // The server may be overloaded: this waits as every retry does.
  if (decision.verdict == rdma::Verdict::kTransferFailed) return s3_error(response, error);
  return send_again();
}

Exchange::Next PutExchange::on_guarded(HttpOutcome outcome) {
  std::optional<Next> next = guard_.on_outcome(outcome);
  if (next) return std::move(*next);
  return may_have_taken_effect_ ? on_head(*outcome) : on_conflict();
}

Exchange::Next PutExchange::on_conflict() {
  if (may_have_taken_effect_) {
    is_checking_owner_ = true;
    return send_again();
  }
  return failed(guard_.conflict(policy_.what()));
}

// The checksum decides if there is one. Otherwise length and user metadata do: an attempt of ours
// may have taken effect, and the key was in the state required shortly before.
bool PutExchange::is_ours(const HttpResponse& head) const {
  const ResponseHeaders& headers = head.headers;
  const std::string& checksum = headers.checksum_crc64nvme;
  const bool is_old = checksum.empty() && is_same_etag(headers.etag, guard_.when().etag);
  return head.is_success() && !is_old && headers.content_length == put_.body.window.length &&
         (checksum.empty() || checksum == checksum_text(put_.body.crc64nvme)) &&
         has_user_metadata(headers, put_.options.metadata);
}

Exchange::Next PutExchange::on_head(const HttpResponse& response) {
  is_checking_owner_ = false;
  if (is_ours(response)) return finish_with(response, unanswered_path_);
  if (!response.is_success() && response.status != 404) {
    return s3_error(response, parse_error(response.text));
  }
  return failed(guard_.conflict(policy_.what()));
}

Exchange::Next PutExchange::finish_with(const HttpResponse& response, Path path) {
  if (response.headers.etag.empty()) {
    return failed(ErrorCode::kProtocol, policy_.what() + ": the answer has no ETag");
  }
  ended_.wrong_object.reset();
  guard_.on_success();
  if (require_failed_) {
    fail(std::move(*require_failed_));
    return finished();
  }
  if (!put_.is_probe) {  // a probe's bytes are not the user's
    StoreMetrics& metrics = shared_.metrics;
    auto& bytes = path == Path::kRdma ? metrics.put_bytes_by_rdma : metrics.put_bytes_by_http;
    bytes.add(put_.body.window.length);
    policy_.on_done(path);
  }
  ended_.outcome.etag = response.headers.etag;
  ended_.outcome.path = path;
  const bool is_whole = put_.upload_id.empty() && !put_.is_probe;
  if (path == Path::kRdma && is_whole && shared_.verify_puts.should_verify()) {
    shared_.metrics.verified_puts.add();
    stored_at_ = endpoint_;
    verifier_.emplace(put_.key, put_.body, response.headers.etag);
    return send_again();
  }
  return finished();
}

// The object is stored: only bytes that are known to be wrong are an error.
Exchange::Next PutExchange::on_compared(HttpOutcome outcome) {
  if (!outcome) return failed(std::move(outcome.error().error));
  if (outcome->status >= 500 || outcome->status == 429) {
    return s3_error(*outcome, parse_error(outcome->text));
  }
  switch (verifier_->on_answer(*outcome)) {
    case PutVerifier::Finding::kUndecided:
      return send_again();
    case PutVerifier::Finding::kDiffers:
      return on_wrong_bytes();
    case PutVerifier::Finding::kUnknown:
      log::info("{}: the stored object could not be compared: HTTP {}", policy_.what(),
                outcome->status);
      [[fallthrough]];
    case PutVerifier::Finding::kSame:
      break;
  }
  return finished();
}

Exchange::Next PutExchange::on_wrong_bytes() {
  const std::string& url = stored_at_->builder.endpoint_url();
  log::error(
      "{}: {} reported success by RDMA but has stored other bytes; the write fails, and nothing "
      "more "
      "is stored there by RDMA",
      policy_.what(), url);
  shared_.metrics.put_verify_failures.add();
  stored_at_->capabilities.on_wrong_bytes();
  verifier_.reset();
  ended_.wrong_object = WrongObject{*ended_.outcome.etag};
  return failed(ErrorCode::kCorrupt,
                fmt::format("{}: the bytes that {} stored by RDMA are wrong", policy_.what(), url));
}

Exchange::Next PutExchange::s3_error(const HttpResponse& response, const S3Error& error) {
  if (guard_.is_conflict(response.status, error)) return on_conflict();
  if (guard_.is_refusal(response.status, error)) return send_again();
  Next next = refused(*endpoint_, "PUT", put_.key, response, error);
  // With a body the network or the memory is at fault, so another attempt may succeed. After a
  // token it counts as a failed transfer, with the same effect.
  if (is_checksum_mismatch(error)) next.error.code = ErrorCode::kServerError;
  return next;
}

void PutExchange::fail(Error error) {
  if (verifier_) {
    log::info("{}: the stored object could not be compared: {}", policy_.what(), error.detail);
    return;
  }
  ended_.outcome.etag = std::unexpected(std::move(error));
}

void PutExchange::finish() {
  policy_.on_over();
  done_(std::move(ended_));
}

}  // namespace s3rdmafs::s3
