// SPDX-License-Identifier: Apache-2.0
// HTTP requests and their outcomes. Plain values that know nothing of S3 but the name of the
// operation, under which a request is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "s3/wire/operation.h"
#include "s3/wire/response_headers.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/enum_names.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

enum class HttpMethod { kGet, kHead, kPut, kPost, kDelete };

inline constexpr EnumNames<HttpMethod::kDelete> kMethodNames({{HttpMethod::kGet, "GET"},
                                                              {HttpMethod::kHead, "HEAD"},
                                                              {HttpMethod::kPut, "PUT"},
                                                              {HttpMethod::kPost, "POST"},
                                                              {HttpMethod::kDelete, "DELETE"}});

[[nodiscard]] constexpr const char* method_name(HttpMethod method) {
  return kMethodNames[method].data();
}

/// One exchange.
struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  Operation operation = Operation::kGet;  ///< what it is counted as
  std::string url;                        ///< percent-encoded, sent unchanged
  std::vector<std::string> headers;       ///< "Name: value"
  /// The body of a PUT or POST, sent with its Content-Length, 0 included, and never chunked.
  /// Borrowed until the answer, which may come before all of it has left.
  std::span<const std::byte> body = {};
  /// IP address on this host that the connection comes from; empty: the system's choice.
  std::string source_address = {};
  /// Where the body of a 2xx answer goes; never written past its end. Borrowed until the answer.
  /// Empty: the body goes to HttpResponse::text, as that of every other answer does.
  std::span<std::byte> body_into = {};
  std::size_t text_bytes_max = 0;
  /// Send it once and never again, even if the connection breaks. Otherwise libcurl sends it once
  /// more if the server had closed a kept-alive connection.
  bool send_once = false;
  bool has_rdma_token = false;  ///< decides which time-out applies
  /// This long after the start, may_hedge decides whether to end the request; zero: never.
  std::chrono::nanoseconds hedge_after{};
  std::move_only_function<bool()> may_hedge = {};
  /// Added to the time an attempt may take, for work that the server does before it answers.
  std::chrono::nanoseconds extra_time{};
  Deadline deadline;
};

/// A complete answer, of whatever status.
struct HttpResponse {
  int status = 0;
  ResponseHeaders headers;
  std::string text;
  std::uint64_t body_bytes = 0;   ///< received and kept
  bool body_is_too_long = false;  ///< the rest, which did not fit, was not read

  [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
};

/// No complete answer.
struct HttpFailure {
  /// kUnreachable (also for an attempt that took too long), kTimedOut (the deadline passed),
  /// kCancelled, kProtocol (no HTTP), kConfig (TLS).
  Error error;
  /// HttpRequest::source_address was set, and no connection could be made from it. So the request
  /// was not sent, and the server may be reachable from another address.
  bool no_connection_from_source = false;
  bool was_connect_time_out = false;  ///< that connection timed out; it was not refused
  /// False: the server never saw the request. True: it may have, and may still act on it.
  bool may_have_reached_server = false;
  bool was_hedged = false;  ///< HttpRequest::may_hedge ended it
  bool was_silent = false;  ///< it was sent, and the attempt timed out
};

using HttpOutcome = std::expected<HttpResponse, HttpFailure>;
/// Called exactly once. On an event thread, or within send() if the request could not begin.
using HttpDone = std::move_only_function<void(HttpOutcome)>;

}  // namespace s3rdmafs::s3
