// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace s3rdmafs {

/// A text of any bytes as a field of a line, which has no white space in it: each byte that is not
/// a visible ASCII character, and each "%", is written as "%" and two hexadecimal digits (RFC 3986,
/// section 2.1).
[[nodiscard]] std::string escaped_field(std::string_view text);
/// The text of such a field; nothing where a "%" has no two digits after it.
[[nodiscard]] std::optional<std::string> unescaped_field(std::string_view field);

}  // namespace s3rdmafs
