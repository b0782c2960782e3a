// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <curl/curl.h>

#include "net/connection_options.h"

namespace s3rdmafs::net {

/// Certificates and versions of TLS for all requests of a handle. libcurl copies the texts, and
/// reads the files when it makes a connection.
void set_tls(CURL* easy, const ConnectionOptions& options);

/// The way of the next request. `url` is scheme://host[:port] and may have a path.
void set_proxy(CURL* easy, const ConnectionOptions& options, std::string_view url);

/// The advice that an error of TLS or of the proxy asks for, in parentheses after a space; empty
/// for other errors. Call after the transfer, before the handle is used again.
/// @param text  libcurl's own for the error
[[nodiscard]] std::string_view advice_for(CURL* easy, CURLcode code, std::string_view text);

}  // namespace s3rdmafs::net
