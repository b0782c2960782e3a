// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials.h"

#include <filesystem>
#include <system_error>

#include "config/credentials/credentials_file.h"
#include "config/read_file.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

// A profile that names no static keys is an error, not a reason to look further: the user named it.
Result<Credentials> from_file(const std::filesystem::path& file, const std::string& profile) {
  const Result<SmallFile> contents = read_small_file(file);
  if (!contents) return std::unexpected(contents.error());
  const auto profiles = parse_credentials_file(contents->text, file.string());
  if (!profiles) return std::unexpected(profiles.error());
  const auto found = profiles->find(profile);
  if (found == profiles->end()) {
    std::string names;
    for (const auto& [name, keys] : *profiles) names += (names.empty() ? "" : ", ") + name;
    return fail(ErrorCode::kConfig, fmt::format("{}: no section [{}]; it has: {}", file.string(),
                                                profile, names.empty() ? "none" : names));
  }
  const CredentialsProfile& keys = found->second;
  if (keys.access_key_id.empty() || keys.secret_access_key.empty()) {
    return fail(
        ErrorCode::kConfig,
        fmt::format("{}: section [{}] has no {}", file.string(), profile,
                    keys.access_key_id.empty() ? "aws_access_key_id" : "aws_secret_access_key"));
  }
  return Credentials{.anonymous = false,
                     .access_key_id = keys.access_key_id,
                     .secret_access_key = keys.secret_access_key,
                     .session_token = keys.session_token,
                     .origin = fmt::format("{} [{}]", file.string(), profile),
                     .warning = open_secret_warning(file, contents->mode)};
}

Result<Credentials> from_aws_variables(const Environment& environment) {
  const auto id = environment.variable("AWS_ACCESS_KEY_ID");
  const auto secret = environment.variable("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) {
    return fail(ErrorCode::kConfig,
                fmt::format("{} is set but {} is not; set both or none",
                            id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                            id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
  }
  return Credentials{.anonymous = false,
                     .access_key_id = *id,
                     .secret_access_key = *secret,
                     .session_token = environment.variable("AWS_SESSION_TOKEN").value_or(""),
                     .origin = "environment AWS_ACCESS_KEY_ID"};
}

}  // namespace

Result<Credentials> resolve_credentials(const MountConfig::Credentials& config,
                                        const Environment& environment) {
  if (config.anonymous) {
    return Credentials{.anonymous = true,
                       .access_key_id = {},
                       .secret_access_key = {},
                       .session_token = {},
                       .origin = "credentials.anonymous"};
  }
  if (!config.access_key_id.empty() && !config.secret_access_key.empty()) {
    return Credentials{.anonymous = false,
                       .access_key_id = config.access_key_id,
                       .secret_access_key = config.secret_access_key,
                       .session_token = config.session_token,
                       .origin = "credentials.access_key_id"};
  }

  const std::string profile = !config.profile.empty()
                                  ? config.profile
                                  : environment.variable("AWS_PROFILE").value_or("default");
  if (!config.file.empty()) return from_file(config.file, profile);

  if (environment.variable("AWS_ACCESS_KEY_ID") || environment.variable("AWS_SECRET_ACCESS_KEY")) {
    return from_aws_variables(environment);
  }

  const std::filesystem::path shared = environment.home / ".aws" / "credentials";
  std::error_code ignored;  // a file that cannot be looked at is one that is not there
  if (!environment.home.empty() && std::filesystem::exists(shared, ignored)) {
    return from_file(shared, profile);
  }
  return fail(ErrorCode::kConfig,
              fmt::format("no credentials; looked at credentials.access_key_id and "
                          "credentials.file in the mount file, at AWS_ACCESS_KEY_ID in the "
                          "environment, and at {}; for a public bucket set credentials.anonymous = "
                          "true",
                          environment.home.empty() ? "~/.aws/credentials (HOME is not set)"
                                                   : shared.string()));
}

}  // namespace s3rdmafs::config
