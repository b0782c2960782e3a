// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/user_metadata.h"

#include <algorithm>
#include <optional>

#include "s3/wire/base64.h"
#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::string_view kWordBegin = "=?";
constexpr std::string_view kWordEnd = "?=";

bool is_name_character(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || kOthers.contains(c);
}

// A value that begins or ends with a space would lose it on the way, and libcurl does not send an
// empty one. One that looks like an encoded word would be decoded by its reader.
bool is_plain_value(std::string_view value) {
  const bool is_printable =
      std::ranges::all_of(value, [](unsigned char c) { return c >= ' ' && c < 0x7F; });
  return is_printable && !value.empty() && !value.starts_with(' ') && !value.ends_with(' ') &&
         !value.contains(kWordBegin);
}

/// "Q" is percent-encoding with "=" for "%", and "_" for a space.
std::optional<std::string> from_q_text(std::string_view text) {
  std::string percent;
  for (const char c : text) {
    if (c == '=') {
      percent += '%';
    } else if (c == '_') {
      percent += ' ';
    } else if (c == '%') {
      percent += "%25";
    } else {
      percent += c;
    }
  }
  const auto decoded = uri_decode(percent);
  if (!decoded) return std::nullopt;
  return *decoded;
}

/// One "=?UTF-8?B?...?=".
std::optional<std::string> decode_word(std::string_view word) {
  if (!word.starts_with(kWordBegin) || !word.ends_with(kWordEnd)) return std::nullopt;
  word.remove_prefix(kWordBegin.size());
  const std::size_t charset_end = word.find('?');
  if (charset_end == std::string_view::npos) return std::nullopt;
  const bool is_utf8 = ascii_lower(word.substr(0, charset_end)) == "utf-8";
  word.remove_prefix(charset_end + 1);
  if (!is_utf8 || word.size() < 2 + kWordEnd.size() || word[1] != '?') return std::nullopt;
  const char encoding = ascii_lower(word[0]);
  const std::string_view text = word.substr(2, word.size() - 2 - kWordEnd.size());
  if (encoding == 'b') return from_base64(text);
  return encoding == 'q' ? from_q_text(text) : std::nullopt;
}

}  // namespace

Result<void> check_user_metadata(const UserMetadata& metadata) {
  for (const auto& [name, value] : metadata) {
    if (!name.empty() && std::ranges::all_of(name, is_name_character)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("user metadata '{}': no header can have this name", name));
  }
  return {};
}

void add_user_metadata(NameValues& headers, const UserMetadata& metadata) {
  for (const auto& [name, value] : metadata) {
    headers.emplace_back(std::string(kMetadataPrefix) + name, metadata_header(value));
  }
}

std::string metadata_header(std::string_view value) {
  if (is_plain_value(value)) return std::string(value);
  return fmt::format("=?UTF-8?B?{}?=", to_base64(value));
}

std::string metadata_value(std::string_view header) {
  std::string value;
  std::string_view rest = header;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    const auto decoded = decode_word(word);
    if (!decoded) return std::string(header);
    value += *decoded;
    rest.remove_prefix(word.size());
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return value;
}

UserMetadata user_metadata_of(const ResponseHeaders& headers) {
  UserMetadata metadata = headers.user_metadata;
  for (auto& [name, value] : metadata) value = metadata_value(value);
  return metadata;
}

bool has_user_metadata(const ResponseHeaders& headers, const UserMetadata& metadata) {
  const UserMetadata stored = user_metadata_of(headers);
  return std::ranges::all_of(metadata, [&](const auto& wanted) {
    return std::ranges::find(stored, wanted) != stored.end();
  });
}

}  // namespace s3rdmafs::s3
