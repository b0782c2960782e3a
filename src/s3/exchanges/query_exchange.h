// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "s3/exchanges/exchange.h"
#include "s3/wire/xml/xml_reader.h"

namespace s3rdmafs::s3 {

/// An operation without object bytes: HEAD, LIST, DELETE or a small GET. A 2xx answer goes to
/// `read`, whose result is the operation's; any other is an S3 error.
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
    bool is_gone_fine = false;  ///< 404 goes to `read` too, unless the bucket is missing
  };

  QueryExchange(Query query, Read read, Done<T> done)
      : query_(std::move(query)), read_(std::move(read)), done_(std::move(done)) {}

  void next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) override {
    endpoint_ = &endpoint;
    Result<HttpRequest> request = endpoint.builder.build({.method = query_.method,
                                                          .key = query_.key,
                                                          .query = query_.parameters,
                                                          .headers = query_.headers});
    if (request) request->text_bytes_max = query_.text_bytes_max;
    ready(std::move(request));
  }

  Next on_outcome(HttpOutcome outcome) override {
    if (!outcome) return failed(std::move(outcome.error().error));
    if (!outcome->is_success()) {
      const S3Error error = parse_error(outcome->text);
      if (query_.is_gone_fine && is_missing_in_bucket(outcome->status, error)) {
        return take(std::move(*outcome));
      }
      return refused(*endpoint_, query_.verb, query_.subject, *outcome, error);
    }
    if (outcome->body_is_too_long) {
      return failed(ErrorCode::kProtocol, "the answer is longer than a valid one can be");
    }
    return take(std::move(*outcome));
  }

  void fail(Error error) override { result_ = std::unexpected(std::move(error)); }
  void finish() override { done_(std::move(result_)); }

 private:
  Next take(HttpResponse response) {
    result_ = read_(std::move(response));
    return finished();
  }

  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  const Query query_;
  Read read_;
  Done<T> done_;
  Result<T> result_ = s3rdmafs::fail(ErrorCode::kCancelled, "");
};

}  // namespace s3rdmafs::s3
