// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// The settings that say where keys come from; the files have many others.
constexpr std::array<std::string_view, 16> kSettings{"aws_access_key_id",
                                                     "aws_secret_access_key",
                                                     "aws_session_token",
                                                     "credential_process",
                                                     "role_arn",
                                                     "source_profile",
                                                     "credential_source",
                                                     "external_id",
                                                     "role_session_name",
                                                     "mfa_serial",
                                                     "web_identity_token_file",
                                                     "sso_session",
                                                     "sso_start_url",
                                                     "sso_region",
                                                     "sso_account_id",
                                                     "sso_role_name"};

// "[default]", "[profile NAME]" or "[sso-session NAME]"; a config file has other sections too.
std::optional<std::string> profile_of(std::string_view section, ProfileFile kind) {
  constexpr std::string_view kPrefix = "profile ";
  if (kind == ProfileFile::kCredentials || section == "default") return std::string(section);
  if (section.starts_with(kSsoSessionPrefix)) return std::string(section);
  if (!section.starts_with(kPrefix)) return std::nullopt;
  std::string_view name = ascii_trimmed(section.substr(kPrefix.size()));
  if (name.size() > 1 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

}  // namespace

Result<std::map<std::string, CredentialsProfile>> parse_credentials_file(std::string_view text,
                                                                         std::string_view name,
                                                                         ProfileFile kind) {
  std::map<std::string, CredentialsProfile> profiles;
  CredentialsProfile* profile = nullptr;
  CredentialsProfile skipped;
  unsigned line_number = 0;
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kConfig, fmt::format("{}:{}: {}", name, line_number, why));
  };

  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = ascii_trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;

    if (line.front() == '[') {
      const std::size_t end_of_name = line.find(']');
      const std::string_view inside = ascii_trimmed(line.substr(1, end_of_name - 1));
      const std::string_view rest =
          end_of_name == std::string_view::npos ? "x" : ascii_trimmed(line.substr(end_of_name + 1));
      const bool has_comment = rest.starts_with('#') || rest.starts_with(';');
      if (inside.empty() || (!rest.empty() && !has_comment))
        return refuse("expected a section, \"[profile]\"");
      const auto named = profile_of(inside, kind);
      profile = named ? &profiles[*named] : &skipped;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (kBlanks.find(whole.front()) != std::string_view::npos && profile != nullptr) continue;
    if (equals == std::string_view::npos && kind == ProfileFile::kConfig) continue;
    if (equals == std::string_view::npos)
      return refuse("expected \"name = value\" or \"[profile]\"");
    if (profile == nullptr) return refuse("a setting stands above the first \"[profile]\" line");
    const std::string_view setting = ascii_trimmed(line.substr(0, equals));
    const std::string_view value = ascii_trimmed(line.substr(equals + 1));
    if (std::ranges::find(kSettings, setting) == kSettings.end()) continue;
    if (value.empty() && kind == ProfileFile::kConfig) continue;
    if (value.empty()) return refuse(fmt::format("{} has no value", setting));
    const bool is_quoted = value.front() == '"' || value.front() == '\'';
    const bool may_be_quoted = setting == "credential_process" || kind == ProfileFile::kConfig;
    if (is_quoted && !may_be_quoted) {
      return refuse(fmt::format("the value of {} is in quotes; write it without", setting));
    }
    profile->insert_or_assign(std::string(setting), std::string(value));
  }
  return profiles;
}

}  // namespace s3rdmafs::config
