// SPDX-License-Identifier: Apache-2.0
//
// Late writes. Once a request with a token may have reached the server, only a complete answer
// proves that the server is done with the window. Without one the GET ends at once, says so, and is
// never sent again from here: the next bytes must go to other memory (design.md section 4). After a
// complete answer the same window may be used again, and the second attempt by HTTP does.
#include "s3/get_exchange.h"

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

using Step = Exchange::Next::Step;

/// The most that every server known transfers in one operation: libcuobjserver's limit
/// (protocol.md section 4, "Sizes").
constexpr std::size_t kRdmaTransferBytesMax = kGiB;

/// Error documents are a few hundred bytes; proxies' pages of HTML some thousand.
constexpr std::size_t kErrorTextBytesMax = 64 * kKiB;

/// Some servers leave the quotes away in one place and not in the other.
std::string_view without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    return etag.substr(1, etag.size() - 2);
  }
  return etag;
}

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::string_view(*text);
}

}  // namespace

GetExchange::GetExchange(Shared& shared, GetRequest get, GetDone done)
    : shared_(shared), get_(std::move(get)), done_(std::move(done)), result_(Path::kHttp) {}

void GetExchange::next_request(Deadline deadline, Done<HttpRequest> ready) {
  Result<bool> wanted = wants_token();
  if (!wanted) return ready(std::unexpected(std::move(wanted.error())));
  if (!*wanted) return ready(build());
  get_.window.region->token(
      get_.window.offset, get_.window.length, deadline,
      [this, ready = std::move(ready)](Result<rdma::Token> token) mutable {
        if (token) {
          token_ = std::move(*token);
        } else if (auto can = without_rdma("fabric_down", std::move(token.error())); !can) {
          return ready(std::unexpected(std::move(can.error())));
        }
        ready(build());
      });
}

Result<HttpRequest> GetExchange::build() {
  const std::uint64_t last = get_.offset_bytes + get_.window.length - 1;
  RequestSpec spec{.key = get_.key,
                   .headers = {{"range", fmt::format("bytes={}-{}", get_.offset_bytes, last)},
                               {"if-match", get_.etag}},
                   .has_rdma_token = token_.has_value()};
  if (token_) spec.headers.emplace_back("x-amz-rdma-token", token_->text());
  Result<HttpRequest> request = shared_.requests.build(spec);
  if (!request) {
    if (token_) token_->end(rdma::TokenFate::kUnsent);
    token_.reset();
    return request;
  }
  request->body_into = get_.window.bytes();
  request->text_bytes_max = kErrorTextBytesMax;
  request->send_once = token_.has_value();
  if (token_) request->source_address = token_->source_address();
  return request;
}

Result<bool> GetExchange::wants_token() {
  if (shared_.rdma.mode == config::RdmaMode::kOff || !may_use_token_) return false;
  if (!is_required() && get_.window.length < shared_.rdma.threshold_bytes) return false;
  std::string_view reason;
  std::string_view why;
  if (get_.window.length > kRdmaTransferBytesMax) {
    reason = "too_long";
    why = "the transfer is longer than servers do in one";
  } else if (!shared_.capability.should_try()) {
    const bool rejects = shared_.capability.state() == Capability::State::kRejectsTokens;
    reason = rejects ? "endpoint_rejects_tokens" : "endpoint_declines";
    why = rejects ? "the endpoint rejected our tokens" : "the endpoint does no RDMA at present";
  } else {
    return true;
  }
  if (auto can = without_rdma(reason, {ErrorCode::kUnsupported, std::string(why)}); !can) {
    return std::unexpected(std::move(can.error()));
  }
  return false;
}

Result<void> GetExchange::without_rdma(std::string_view reason, Error why) {
  if (is_required()) {
    return s3rdmafs::fail(
        why.code, fmt::format("{}: rdma.mode is \"require\", and {}", describe(), why.detail));
  }
  shared_.metrics.on_fallback(reason, why.detail);
  may_use_token_ = false;
  return {};
}

Exchange::Next GetExchange::on_outcome(HttpOutcome outcome) {
  std::optional<rdma::Token> token = std::exchange(token_, std::nullopt);
  if (!token) {
    return outcome ? on_http_answer(*outcome)
                   : Next{.step = Step::kFailed, .error = std::move(outcome.error().error)};
  }
  return outcome ? on_rdma_answer(*outcome, *token)
                 : on_no_answer(std::move(outcome.error()), *token);
}

Exchange::Next GetExchange::on_no_answer(HttpFailure failure, rdma::Token& token) {
  token.end(failure.may_have_reached_server ? rdma::TokenFate::kUnanswered
                                            : rdma::TokenFate::kUnsent);
  if (failure.may_have_reached_server) {
    result_ =
        std::unexpected(GetFailure{.error = std::move(failure.error), .late_write_possible = true});
    return {.step = Step::kFinished};
  }
  return {.step = Step::kFailed, .error = std::move(failure.error)};
}

Exchange::Next GetExchange::on_http_answer(const HttpResponse& response) {
  if (response.status < 200 || response.status >= 300) return s3_error(response);
  if (response.body_is_too_long || response.body_bytes != get_.window.length) {
    return {.step = Step::kFailed,
            .error = {ErrorCode::kProtocol,
                      fmt::format("{}: the body has {} {} bytes, not {}", describe(),
                                  response.body_is_too_long ? "more than" : "only",
                                  response.body_bytes, get_.window.length)}};
  }
  return take_body(response);
}

Exchange::Next GetExchange::on_rdma_answer(const HttpResponse& response, rdma::Token& token) {
  if (response.body_is_too_long) {
    // Broken off, so this is no complete answer. A server that ignores both token and Range does
    // this.
    shared_.capability.on_declined();
    result_ = std::unexpected(
        GetFailure{.error = {ErrorCode::kProtocol,
                             fmt::format("{}: the body is longer than the {} bytes asked for",
                                         describe(), get_.window.length)},
                   .late_write_possible = true});
    return {.step = Step::kFinished};
  }
  const bool is_error = response.status >= 300;
  const S3Error error = is_error ? parse_error(response.text) : S3Error{};
  const rdma::Decision decision =
      rdma::judge_get({.http_status = response.status,
                       .reply = view(response.headers.rdma_reply),
                       .bytes_transferred = view(response.headers.rdma_bytes_transferred),
                       .body_bytes = response.body_bytes,
                       .expected_bytes = get_.window.length,
                       .s3_error_code = error.code});
  token.end(decision.verdict == rdma::Verdict::kTransferFailed ? rdma::TokenFate::kTransferFailed
                                                               : rdma::TokenFate::kAnswered);
  switch (decision.verdict) {
    case rdma::Verdict::kDoneByRdma:
      shared_.capability.on_rdma_done();
      if (std::optional<Error> wrong = check_version_and_range(response)) {
        return {.step = Step::kFailed, .error = std::move(*wrong)};
      }
      return finish_with(Path::kRdma);
    case rdma::Verdict::kS3Error:
      return s3_error(response);
    case rdma::Verdict::kCorrupt:
      shared_.capability.on_declined();
      shared_.metrics.on_fallback(decision.reason, describe());
      return {.step = Step::kFailed,
              .error = {ErrorCode::kCorrupt,
                        fmt::format("{}: the answer about RDMA contradicts itself: {}", describe(),
                                    decision.reason)}};
    default:
      return fall_back(decision, response);
  }
}

Exchange::Next GetExchange::fall_back(const rdma::Decision& decision,
                                      const HttpResponse& response) {
  using rdma::Verdict;
  const Verdict verdict = decision.verdict;
  if (verdict == Verdict::kBodyCarriesData) {
    shared_.capability.on_body_answer();
  } else if (verdict == Verdict::kTokenRejected) {
    shared_.capability.on_token_rejected();
  } else if (verdict == Verdict::kRetryWithoutToken) {
    shared_.capability.on_declined();
  } else {
    shared_.capability.on_transfer_failed();  // kTransferFailed, kTruncated
  }
  if (is_required()) {
    // A failed transfer is worth another, by RDMA again; everything else is a plain no.
    if (verdict == Verdict::kTransferFailed) return s3_error(response);
    return {.step = Step::kFailed,
            .error = {ErrorCode::kUnsupported,
                      fmt::format("{}: rdma.mode is \"require\", and the server did not use RDMA: "
                                  "HTTP {}, {}",
                                  describe(), response.status, decision.reason)}};
  }
  shared_.metrics.on_fallback(decision.reason,
                              fmt::format("{}: HTTP {}", describe(), response.status));
  may_use_token_ = false;
  if (verdict == Verdict::kBodyCarriesData) return take_body(response);
  // The server may be in trouble: no faster than any other retry.
  if (verdict == Verdict::kTransferFailed) return s3_error(response);
  return {.step = Step::kSendAgain};
}

Exchange::Next GetExchange::take_body(const HttpResponse& response) {
  if (std::optional<Error> wrong = check_version_and_range(response)) {
    return {.step = Step::kFailed, .error = std::move(*wrong)};
  }
  return finish_with(Path::kHttp);
}

Exchange::Next GetExchange::finish_with(Path path) {
  auto& bytes = path == Path::kRdma ? shared_.metrics.bytes_by_rdma : shared_.metrics.bytes_by_http;
  bytes.add(get_.window.length);
  result_ = path;
  return {.step = Step::kFinished};
}

Exchange::Next GetExchange::s3_error(const HttpResponse& response) const {
  const S3Error document = parse_error(response.text);
  const OperationName name{.verb = "GET",
                           .key = get_.key,
                           .bucket = shared_.requests.bucket(),
                           .endpoint = shared_.requests.endpoint_url()};
  Error error = map_s3_error(name, response.status, document);
  // The version that was opened is gone: replaced, deleted, or shorter than its range (416).
  const bool is_gone = response.status == 404 && document.code != "NoSuchBucket";
  if (is_gone || response.status == 412 || response.status == 416) error.code = ErrorCode::kStale;
  return {.step = Step::kFailed,
          .error = std::move(error),
          .retry_after = response.headers.retry_after};
}

std::optional<Error> GetExchange::check_version_and_range(const HttpResponse& response) const {
  const ResponseHeaders& headers = response.headers;
  if (!headers.etag.empty() && without_quotes(headers.etag) != without_quotes(get_.etag)) {
    return Error{ErrorCode::kStale, fmt::format("{}: the server ignored If-Match and sent {}",
                                                describe(), headers.etag)};
  }
  if (headers.content_range.empty()) {
    if (get_.offset_bytes == 0 || response.status == 206) return std::nullopt;
    // versitygw's RDMA answers: HTTP 206. A plain 200 is the object's beginning.
    return Error{ErrorCode::kProtocol,
                 fmt::format("{}: the server ignored the Range header", describe())};
  }
  const std::optional<ContentRange> range = parse_content_range(headers.content_range);
  if (!range || range->first != get_.offset_bytes ||
      range->last - range->first + 1 != get_.window.length) {
    return Error{ErrorCode::kProtocol, fmt::format("{}: the server sent '{}' instead", describe(),
                                                   headers.content_range)};
  }
  return std::nullopt;
}

void GetExchange::fail(Error error) {
  // Whatever carried a token has been answered, or ended in on_failure().
  result_ = std::unexpected(GetFailure{.error = std::move(error)});
}

void GetExchange::finish() { done_(std::move(result_)); }

std::string GetExchange::describe() const {
  return fmt::format("GET '{}', bytes {}+{}", get_.key, get_.offset_bytes, get_.window.length);
}

bool GetExchange::is_required() const { return shared_.rdma.mode == config::RdmaMode::kRequire; }

}  // namespace s3rdmafs::s3
