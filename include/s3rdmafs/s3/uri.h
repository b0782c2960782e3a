// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// Percent-encodes every byte but A-Z a-z 0-9 - . _ ~ (RFC 3986 section 2.3), upper-case hex, as
/// Signature Version 4 requires. `keep_slash` leaves "/" as it is: true for paths, false for
/// queries.
[[nodiscard]] std::string uri_encode(std::string_view text, bool keep_slash);

/// "a=1&b=2", encoded: a query, or the body of a form.
[[nodiscard]] std::string encode_fields(
    const std::vector<std::pair<std::string, std::string>>& fields);

/// The Host header for a URL: its authority without the port that its scheme implies, as clients
/// send it (RFC 9110 section 7.2).
[[nodiscard]] std::string host_of_url(std::string_view url);

/// The inverse of uri_encode(); "+" stays "+". Errors: kInvalidArgument for a "%" without two hex
/// digits after it.
[[nodiscard]] Result<std::string> uri_decode(std::string_view text);

}  // namespace s3rdmafs::s3
