// SPDX-License-Identifier: Apache-2.0
//
// Late writes. After a request with a token may have reached the server, only a complete answer
// proves that the server has finished with the window. Without one the GET ends at once with
// late_write_possible and is never repeated here: the next attempt must use other memory
// (s3rdmafs-protocol(7)). After a complete answer the window may be used again, and the second
// attempt by HTTP does.
//
// Hedging. Two servers must never write into the same memory while one may be late. So a slow read
// is not sent twice at a time: it is given up and then sent to another server. By HTTP the client
// can refuse the body, and the next attempt uses the same window. By token the read ends like every
// other GET without an answer, and only if the caller then reads into other memory.
#include "s3/exchanges/get_exchange.h"

#include <algorithm>

#include "s3/wire/object_checksum.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

using Step = Exchange::Next::Step;

}  // namespace

GetExchange::GetExchange(TransferShared& shared, GetRequest get, GetDone done)
    : shared_(shared),
      get_(std::move(get)),
      policy_(
          shared, TransferKind::kGet, get_.window,
          fmt::format("GET '{}', bytes {}+{}", get_.key, get_.offset_bytes, get_.window.length)),
      done_(std::move(done)),
      result_(Path::kHttp) {}

void GetExchange::next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  if (!comparison_.empty()) return ready(build());
  policy_.prepare(endpoint, deadline, [this, ready = std::move(ready)](Result<void> can) mutable {
    if (!can) return ready(std::unexpected(std::move(can.error())));
    Result<HttpRequest> request = build();
    if (!request) policy_.on_unsent();
    ready(std::move(request));
  });
}

Result<HttpRequest> GetExchange::build() {
  const std::uint64_t last = get_.offset_bytes + get_.window.length - 1;
  RequestSpec spec{.key = get_.key,
                   .headers = {{"range", fmt::format("bytes={}-{}", get_.offset_bytes, last)},
                               {"if-match", get_.etag}}};
  if (shared_.verify.is_on()) spec.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  has_token_ = policy_.add_token(spec);
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (!request) return request;
  request->body_into = comparison_.empty() ? get_.window.bytes() : std::span(comparison_);
  request->text_bytes_max = kErrorTextBytesMax;
  request->send_once = has_token_;
  request->has_rdma_token = has_token_;
  request->source_address = policy_.source_address();
  if (shared_.may_hedge) allow_hedge(*request);
  return request;
}

void GetExchange::allow_hedge(HttpRequest& request) {
  sent_at_ = shared_.clock.now();
  shared_.hedges.on_read();
  if (was_hedged_ || (has_token_ && !get_.can_restart)) return;
  const auto bound = shared_.hedges.bound(get_.window.length);
  if (!bound) return;
  request.hedge_after = *bound;
  request.may_hedge = [&shared = shared_, endpoint = endpoint_] {
    return shared.endpoints.has_other_alive(*endpoint) && shared.hedges.try_spend();
  };
}

Exchange::Next GetExchange::on_outcome(HttpOutcome outcome) {
  if (!outcome) return on_no_answer(std::move(outcome.error()));
  policy_.on_connected();
  return has_token_ ? on_rdma_answer(*outcome) : on_http_answer(*outcome);
}

Exchange::Next GetExchange::on_no_answer(HttpFailure failure) {
  if (policy_.goes_another_way(failure)) return send_again();
  policy_.on_no_answer(failure);
  if (has_token_ && failure.may_have_reached_server) {
    result_ = std::unexpected(GetFailure{.error = std::move(failure.error),
                                         .late_write_possible = true,
                                         .was_hedged = failure.was_hedged});
    return finished();
  }
  if (failure.was_hedged) {
    was_hedged_ = true;
    return {.step = Step::kElsewhere};
  }
  return failed(std::move(failure.error));
}

Exchange::Next GetExchange::on_http_answer(const HttpResponse& response) {
  if (!response.is_success()) return s3_error(response);
  if (response.body_is_too_long || response.body_bytes != get_.window.length) {
    return failed(ErrorCode::kProtocol,
                  fmt::format("{}: the body has {} {} bytes, not {}", policy_.what(),
                              response.body_is_too_long ? "more than" : "only", response.body_bytes,
                              get_.window.length));
  }
  return take_body(response);
}

Exchange::Next GetExchange::on_rdma_answer(const HttpResponse& response) {
  if (response.body_is_too_long) {
    // A server that ignores both token and Range does that.
    policy_.on_broken_off();
    result_ = std::unexpected(
        GetFailure{.error = {ErrorCode::kProtocol,
                             fmt::format("{}: the body is longer than the {} bytes asked for",
                                         policy_.what(), get_.window.length)},
                   .late_write_possible = true});
    return finished();
  }
  const bool is_error = response.status >= 300;
  const S3Error error = is_error ? parse_error(response.text) : S3Error{};
  rdma::ReplyFacts facts = reply_facts(response, error, get_.window.length);
  facts.is_count_optional = shared_.rdma.byte_count == ByteCount::kOptional;
  const rdma::Decision decision = rdma::judge_get(facts);
  policy_.on_answer(decision);
  switch (decision.verdict) {
    case rdma::Verdict::kDoneByRdma:
      if (std::optional<Error> wrong = check_version_and_range(response)) {
        return failed(std::move(*wrong));
      }
      return verify(response);
    case rdma::Verdict::kS3Error:
      return s3_error(response);
    case rdma::Verdict::kCorrupt:
      if (!policy_.is_required()) return fall_back(decision, response);
      return failed(ErrorCode::kCorrupt,
                    fmt::format("{}: the answer about RDMA contradicts itself: {}", policy_.what(),
                                decision.reason));
    default:
      return fall_back(decision, response);
  }
}

Exchange::Next GetExchange::fall_back(const rdma::Decision& decision,
                                      const HttpResponse& response) {
  if (auto can = policy_.fall_back(decision, response.status); !can) {
    return {.step = Step::kLeaveOut, .error = std::move(can.error())};
  }
  if (decision.verdict == rdma::Verdict::kBodyCarriesData) return take_body(response);
  // The server may be overloaded: this waits as every retry does.
  if (decision.verdict == rdma::Verdict::kTransferFailed) return s3_error(response);
  return send_again();
}

Exchange::Next GetExchange::take_body(const HttpResponse& response) {
  if (std::optional<Error> wrong = check_version_and_range(response)) {
    return failed(std::move(*wrong));
  }
  if (!comparison_.empty()) return compare();
  policy_.on_done(Path::kHttp);
  return finish_with(Path::kHttp);
}

/// The server says that it is done. The object's checksum shows whether that is true for the price
/// of computing it; without one a second read does.
Exchange::Next GetExchange::verify(const HttpResponse& response) {
  policy_.on_done(Path::kRdma);
  if (!shared_.verify.should_verify()) return finish_with(Path::kRdma);
  shared_.metrics.verified.add();
  const std::optional<bool> is_right =
      matches_checksum(response, get_.offset_bytes, get_.window.bytes());
  if (!is_right) {
    comparison_.resize(get_.window.length);
    return send_again();
  }
  return *is_right ? finish_with(Path::kRdma) : on_wrong_bytes();
}

Exchange::Next GetExchange::compare() {
  const std::span<std::byte> window = get_.window.bytes();
  if (std::ranges::equal(window, comparison_)) return finish_with(Path::kRdma);
  Next next = on_wrong_bytes();
  if (next.step != Step::kSendAgain) return next;
  std::ranges::copy(comparison_, window.begin());  // the second read is already there
  return finish_with(Path::kHttp);
}

Exchange::Next GetExchange::on_wrong_bytes() {
  // The second read may have come from another server.
  const std::string& endpoint = policy_.endpoint_url();
  log::error(
      "{}: {} reported success by RDMA but the bytes are wrong; they are not used (a path MTU that "
      "differs at the two ends can cause this)",
      policy_.what(), endpoint);
  shared_.metrics.verify_failures.add();
  shared_.verify.start_over();
  policy_.give_up_endpoint();
  if (policy_.is_required()) {
    return failed(
        ErrorCode::kCorrupt,
        fmt::format("{}: the bytes that came by RDMA from {} are wrong", policy_.what(), endpoint));
  }
  shared_.metrics.on_fallback("verify_failed", endpoint, policy_.what());
  policy_.use_http();
  return send_again();
}

Exchange::Next GetExchange::finish_with(Path path) {
  if (shared_.may_hedge) {
    shared_.hedges.on_done(get_.window.length, shared_.clock.now() - sent_at_);
  }
  auto& bytes = path == Path::kRdma ? shared_.metrics.bytes_by_rdma : shared_.metrics.bytes_by_http;
  bytes.add(get_.window.length);
  result_ = path;
  return finished();
}

Exchange::Next GetExchange::s3_error(const HttpResponse& response) const {
  const S3Error document = parse_error(response.text);
  Next next = refused(*endpoint_, "GET", get_.key, response, document);
  // The version that was opened is gone: replaced, deleted, or shorter than its range (416).
  if (is_missing_in_bucket(response.status, document) || response.status == 412 ||
      response.status == 416) {
    next.error.code = ErrorCode::kStale;
  }
  return next;
}

std::optional<Error> GetExchange::check_version_and_range(const HttpResponse& response) const {
  const ResponseHeaders& headers = response.headers;
  if (!headers.etag.empty() && !is_same_etag(headers.etag, get_.etag)) {
    return Error{ErrorCode::kStale, fmt::format("{}: the server ignored If-Match and sent {}",
                                                policy_.what(), headers.etag)};
  }
  if (headers.content_range.empty()) {
    if (get_.offset_bytes == 0 || response.status == 206) return std::nullopt;
    // versitygw answers RDMA with 206 and no Content-Range. A plain 200 is the object's beginning.
    return Error{ErrorCode::kProtocol,
                 fmt::format("{}: the server ignored the Range header", policy_.what())};
  }
  const std::optional<ContentRange> range = parse_content_range(headers.content_range);
  if (!range || range->first != get_.offset_bytes ||
      range->last - range->first + 1 != get_.window.length) {
    return Error{ErrorCode::kProtocol, fmt::format("{}: the server sent '{}' instead",
                                                   policy_.what(), headers.content_range)};
  }
  return std::nullopt;
}

void GetExchange::fail(Error error) {
  // Each attempt with a token was answered, or ended the exchange in on_no_answer().
  result_ = std::unexpected(GetFailure{.error = std::move(error)});
}

void GetExchange::finish() {
  policy_.on_over();
  done_(std::move(result_));
}

}  // namespace s3rdmafs::s3
