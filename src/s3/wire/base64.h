// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace s3rdmafs::s3 {

/// Base64 with padding (RFC 4648 section 4), without line breaks.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nothing unless it is well-formed.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace s3rdmafs::s3
