// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/field.h"

#include <charconv>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs {

std::string escaped_field(std::string_view text) {
  std::string field;
  field.reserve(text.size());  // more where something is escaped
  for (const char c : text) {
    if (c > ' ' && c <= '~' && c != '%') {
      field += c;
    } else {
      field += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return field;
}

std::optional<std::string> unescaped_field(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '%') {
      text += field[i];
      continue;
    }
    const std::string_view digits = field.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (failed != std::errc{} || end != digits.data() + 2) return std::nullopt;
    text += static_cast<char>(byte);
    i += 2;
  }
  return text;
}

}  // namespace s3rdmafs
