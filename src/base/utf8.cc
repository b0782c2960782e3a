// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/utf8.h"

#include <array>
#include <cstdint>

namespace s3rdmafs {
namespace {

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

}  // namespace

// RFC 3629 section 4.
std::size_t utf8_character_bytes(std::string_view text) {
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
  if (text.empty()) return 0;
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

std::string_view utf8_beginning(std::string_view text) {
  std::size_t bytes = 0;
  while (const std::size_t more = utf8_character_bytes(text.substr(bytes))) bytes += more;
  return text.substr(0, bytes);
}

}  // namespace s3rdmafs
