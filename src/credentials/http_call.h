// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "net/connection_options.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::credentials {

/// One request to a credentials service.
struct HttpCall {
  std::string method = "GET";  ///< or PUT, POST
  std::string url;
  std::vector<std::string> headers = {};  ///< "Name: value"
  std::string body = {};                  ///< of a POST
  net::ConnectionOptions connection = {};
  bool is_on_this_host = false;  ///< never by a proxy; the answer comes soon or not at all
};

/// An answer with any status; its body has at most 256 KiB.
struct HttpAnswer {
  long status = 0;
  std::string body;
};

/// Sends it and waits, for 20 seconds at most, 2 to this host; returns soon after `stop`. Follows
/// no redirection, as secrets go along. Errors: kUnreachable, kTimedOut, kProtocol, kCancelled;
/// none names a header or a body.
[[nodiscard]] Result<HttpAnswer> call_http(const HttpCall& call, const std::stop_token& stop);

}  // namespace s3rdmafs::credentials
