// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials_file.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The field that a setting fills, or nullptr for one that is not about static keys.
std::string* field_of(CredentialsProfile& profile, std::string_view setting) {
  if (setting == "aws_access_key_id") return &profile.access_key_id;
  if (setting == "aws_secret_access_key") return &profile.secret_access_key;
  if (setting == "aws_session_token") return &profile.session_token;
  return nullptr;
}

}  // namespace

Result<std::map<std::string, CredentialsProfile>> parse_credentials_file(std::string_view text,
                                                                         std::string_view name) {
  std::map<std::string, CredentialsProfile> profiles;
  CredentialsProfile* profile = nullptr;
  unsigned line_number = 0;
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kConfig, fmt::format("{}:{}: {}", name, line_number, why));
  };

  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;

    if (line.front() == '[') {
      const std::string_view inside = trimmed(line.substr(1, line.find(']') - 1));
      if (!line.ends_with(']') || inside.empty())
        return refuse("expected a section, \"[profile]\"");
      profile = &profiles[std::string(inside)];
      continue;
    }
    const std::size_t equals = line.find('=');
    if (kBlanks.find(whole.front()) != std::string_view::npos && profile != nullptr) continue;
    if (equals == std::string_view::npos)
      return refuse("expected \"name = value\" or \"[profile]\"");
    if (profile == nullptr) return refuse("a setting stands above the first \"[profile]\" line");
    const std::string_view setting = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    std::string* const field = field_of(*profile, setting);
    if (field == nullptr) continue;
    if (value.empty()) return refuse(fmt::format("{} has no value", setting));
    if (value.front() == '"' || value.front() == '\'') {
      return refuse(fmt::format("the value of {} is in quotes; write it without", setting));
    }
    *field = value;
  }
  return profiles;
}

}  // namespace s3rdmafs::config
