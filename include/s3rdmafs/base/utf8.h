// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace s3rdmafs {

/// The bytes of the UTF-8 character at the beginning of a text; 0 where none begins there, also at
/// its end. Reentrant, as the next one.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text);

/// The text up to the first byte that is not UTF-8.
[[nodiscard]] std::string_view utf8_beginning(std::string_view text);

}  // namespace s3rdmafs
