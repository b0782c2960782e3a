// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "s3/exchanges/exchange.h"
#include "s3/wire/error_mapping.h"
#include "s3/wire/xml_reader.h"

namespace s3rdmafs::s3 {

/// An operation without object bytes, HEAD, LIST or DELETE: any 2xx answer goes to `read`, whose
/// result is the operation's; anything else is an S3 error.
template <class T>
class QueryExchange final : public Exchange {
 public:
  using Read = std::move_only_function<Result<T>(HttpResponse)>;

  struct Query {
    HttpMethod method;
    std::string_view verb;  ///< for error texts; static
    std::string key;        ///< of the object; empty for the bucket
    std::string subject;    ///< what error texts name: the key, or a listing's prefix
    NameValues parameters;
    std::size_t text_bytes_max;
    NameValues headers = {};
    bool is_gone_fine = false;  ///< 404 is success too, but for the bucket
  };

  QueryExchange(Query query, Read read, Done<T> done)
      : query_(std::move(query)), read_(std::move(read)), done_(std::move(done)) {}

  void next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) override {
    builder_ = &endpoint.builder;
    Result<HttpRequest> request = builder_->build({.method = query_.method,
                                                   .key = query_.key,
                                                   .query = query_.parameters,
                                                   .headers = query_.headers});
    if (request) request->text_bytes_max = query_.text_bytes_max;
    ready(std::move(request));
  }

  Next on_outcome(HttpOutcome outcome) override {
    if (!outcome) return {.step = Next::Step::kFailed, .error = std::move(outcome.error().error)};
    const OperationName name{.verb = query_.verb,
                             .key = query_.subject,
                             .bucket = builder_->bucket(),
                             .endpoint = builder_->endpoint_url()};
    if (outcome->status < 200 || outcome->status >= 300) {
      const S3Error error = parse_error(outcome->text);
      const bool is_gone = outcome->status == 404 && error.code != "NoSuchBucket";
      if (is_gone && query_.is_gone_fine) return finished(std::move(*outcome));
      return {.step = Next::Step::kFailed,
              .error = map_s3_error(name, outcome->status, error),
              .retry_after = outcome->headers.retry_after};
    }
    if (outcome->body_is_too_long) {
      return {.step = Next::Step::kFailed,
              .error = {ErrorCode::kProtocol, "the answer is longer than any can be"}};
    }
    return finished(std::move(*outcome));
  }

  void fail(Error error) override { result_ = std::unexpected(std::move(error)); }
  void finish() override { done_(std::move(result_)); }

 private:
  Next finished(HttpResponse response) {
    result_ = read_(std::move(response));
    return {.step = Next::Step::kFinished};
  }

  RequestBuilder* builder_ = nullptr;  // of the attempt under way
  const Query query_;
  Read read_;
  Done<T> done_;
  Result<T> result_ = s3rdmafs::fail(ErrorCode::kCancelled, "");
};

}  // namespace s3rdmafs::s3
