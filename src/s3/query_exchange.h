// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "s3/error_mapping.h"
#include "s3/request.h"
#include "s3/retry_runner.h"

namespace s3rdmafs::s3 {

/// An operation without object bytes, HEAD or LIST: any 2xx answer goes to `read`, whose result is
/// the operation's; anything else is an S3 error.
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
  };

  QueryExchange(RequestBuilder& requests, Query query, Read read, Done<T> done)
      : requests_(requests),
        query_(std::move(query)),
        read_(std::move(read)),
        done_(std::move(done)) {}

  void next_request(Deadline, Done<HttpRequest> ready) override {
    Result<HttpRequest> request =
        requests_.build({.method = query_.method, .key = query_.key, .query = query_.parameters});
    if (request) request->text_bytes_max = query_.text_bytes_max;
    ready(std::move(request));
  }

  Next on_outcome(HttpOutcome outcome) override {
    using Step = Next::Step;
    if (!outcome) return {.step = Step::kFailed, .error = std::move(outcome.error().error)};
    const OperationName name{.verb = query_.verb,
                             .key = query_.subject,
                             .bucket = requests_.bucket(),
                             .endpoint = requests_.endpoint_url()};
    if (outcome->status < 200 || outcome->status >= 300) {
      return {.step = Step::kFailed,
              .error = map_s3_error(name, outcome->status, parse_error(outcome->text)),
              .retry_after = outcome->headers.retry_after};
    }
    if (outcome->body_is_too_long) {
      return {.step = Step::kFailed,
              .error = {ErrorCode::kProtocol, "the answer is longer than any can be"}};
    }
    result_ = read_(std::move(*outcome));
    return {.step = Step::kFinished};
  }

  void fail(Error error) override { result_ = std::unexpected(std::move(error)); }
  void finish() override { done_(std::move(result_)); }

 private:
  RequestBuilder& requests_;
  const Query query_;
  Read read_;
  Done<T> done_;
  Result<T> result_ = s3rdmafs::fail(ErrorCode::kCancelled, "");
};

}  // namespace s3rdmafs::s3
