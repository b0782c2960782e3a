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

/// The text without the blanks, tabs and line ends around it.
[[nodiscard]] constexpr std::string_view ascii_trimmed(std::string_view text) noexcept {
  constexpr std::string_view kAround = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kAround) - first + 1);
}

}  // namespace s3rdmafs
