// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace s3rdmafs {

/// `c` in lower case if it is one of A to Z, else `c`. Unlike std::tolower it ignores the locale.
[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The text with A to Z in lower case and all other bytes unchanged.
[[nodiscard]] inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return ascii_lower(c); });
  return lower;
}

}  // namespace s3rdmafs
