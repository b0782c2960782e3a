// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/json.h"

#include <array>
#include <cstdint>
#include <sstream>

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

// The length of the character at the beginning; 0: it is invalid. RFC 3629 section 4.
std::size_t character_bytes(std::string_view text) {
  struct Form {
    std::uint8_t first, last;  // of the first byte
    std::uint8_t low, high;    // of the second one; the others are 80..BF
    std::size_t bytes;
  };
  constexpr auto kForms = std::to_array<Form>({{0xC2, 0xDF, 0x80, 0xBF, 2},
                                               {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                               {0xE1, 0xEC, 0x80, 0xBF, 3},
                                               {0xED, 0xED, 0x80, 0x9F, 3},
                                               {0xEE, 0xEF, 0x80, 0xBF, 3},
                                               {0xF0, 0xF0, 0x90, 0xBF, 4},
                                               {0xF1, 0xF3, 0x80, 0xBF, 4},
                                               {0xF4, 0xF4, 0x80, 0x8F, 4}});
  const std::uint8_t first = byte_of(text.front());
  if (first < 0x80) return 1;
  for (const Form& form : kForms) {
    if (first < form.first || first > form.last) continue;
    if (text.size() < form.bytes) return 0;
    if (byte_of(text[1]) < form.low || byte_of(text[1]) > form.high) return 0;
    for (std::size_t i = 2; i < form.bytes; ++i) {
      if ((byte_of(text[i]) & 0xC0U) != 0x80U) return 0;
    }
    return form.bytes;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    valid += bytes == 0 ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return valid;
}

std::string json_text(const toml::table& table) {
  toml::table clean = table;
  change_texts(clean, [](const std::string& text) { return valid_utf8(text); });
  std::ostringstream stream;
  stream << toml::json_formatter(clean) << '\n';
  return std::move(stream).str();
}

}  // namespace s3rdmafs::daemon::doctor
