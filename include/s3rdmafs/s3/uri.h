// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// Percent-encodes every byte but A-Z a-z 0-9 - . _ ~ (RFC 3986 section 2.3), upper-case hex, as
/// Signature Version 4 requires. `keep_slash` leaves "/" as it is: true for paths, false for
/// queries.
[[nodiscard]] std::string uri_encode(std::string_view text, bool keep_slash);

/// The inverse; "+" stays "+". Errors: kInvalidArgument for a "%" without two hex digits after it.
[[nodiscard]] Result<std::string> uri_decode(std::string_view text);

}  // namespace s3rdmafs::s3
