// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace s3rdmafs::target {

/// "Wed, 21 Oct 2015 07:28:00 GMT" (RFC 9110 section 5.6.7), for headers.
[[nodiscard]] std::string http_date(std::time_t when);
/// The inverse; also takes ISO 8601. Nothing for any other text.
[[nodiscard]] std::optional<std::time_t> parse_http_date(const std::string& text);
/// "2015-10-21T07:28:00.000Z", for XML.
[[nodiscard]] std::string iso_date(const timespec& when);

}  // namespace s3rdmafs::target
