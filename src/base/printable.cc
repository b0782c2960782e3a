// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/printable.h"

#include <algorithm>

namespace s3rdmafs {
namespace {

constexpr char kC1Lead = '\xc2';  // U+0080 to U+009F are this and one of 0x80 to 0x9f

bool is_c1(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != kC1Lead) return false;
  const auto byte = static_cast<unsigned char>(rest[1]);
  return byte >= 0x80 && byte <= 0x9f;
}

void append_hex(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 15U];
}

void append_escape(std::string& out, char c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else {
    out += "\\x";
    append_hex(out, c);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char c = text.front();
    if (is_c1(text)) {
      out += "\\u00";
      append_hex(out, text[1]);
      text.remove_prefix(1);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      append_escape(out, c);
    } else {
      out += c;
    }
    text.remove_prefix(1);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += printable(text.substr(0, end));
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace s3rdmafs
