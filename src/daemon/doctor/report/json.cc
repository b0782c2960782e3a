// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/json.h"

#include <cstddef>
#include <sstream>

#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
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
