// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// -1 if `c` is not a hex digit.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string uri_encode(std::string_view text, bool keep_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4U];
      encoded += kDigits[byte & 15U];
    }
  }
  return encoded;
}

std::string encode_fields(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text += '&';
    text += uri_encode(name, /*keep_slash=*/false);
    text += '=';
    text += uri_encode(value, /*keep_slash=*/false);
  }
  return text;
}

std::string host_of_url(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const std::string_view port = url.starts_with("https://") ? ":443" : ":80";
  url.remove_prefix(scheme_end == std::string_view::npos ? 0 : scheme_end + 3);
  if (url.ends_with(port)) url.remove_suffix(port.size());
  return std::string(url);
}

Result<std::string> uri_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      return fail(ErrorCode::kInvalidArgument,
                  "a '%' is not followed by two hex digits at byte " + std::to_string(i));
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

}  // namespace s3rdmafs::s3
