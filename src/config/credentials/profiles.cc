// SPDX-License-Identifier: Apache-2.0
// Profiles of ~/.aws/credentials and ~/.aws/config.
//
// A profile is in either file or in both; settings of the credentials file win. Inside a profile a
// role comes first, then keys, then a program, as with the AWS tools. A role names the profile
// whose keys sign the request for it, which may have a role itself: the chain ends at a profile
// with keys, also at one that names itself.
#include "config/credentials/profiles.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "config/credentials/credentials_file.h"
#include "config/read_file.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

// Longer chains are loops, or a mistake that STS would refuse one by one.
constexpr int kRolesMax = 5;

struct Profiles {
  std::map<std::string, CredentialsProfile> all;
  std::string files;    ///< for messages
  std::string warning;  ///< that others may read the secrets
};

Result<void> add_file(const std::filesystem::path& file, ProfileFile kind, bool may_be_missing,
                      Profiles& profiles) {
  std::error_code ignored;  // a file that cannot be looked at is one that is not there
  if (file.empty() || (may_be_missing && !std::filesystem::exists(file, ignored))) return {};
  const Result<SmallFile> contents = read_small_file(file);
  if (!contents) return std::unexpected(contents.error());
  auto parsed = parse_credentials_file(contents->text, file.string(), kind);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  const bool has_secret = std::ranges::any_of(
      *parsed, [](const auto& each) { return each.second.contains("aws_secret_access_key"); });
  for (auto& [name, settings] : *parsed) profiles.all[name].merge(settings);
  profiles.files += (profiles.files.empty() ? "" : ", ") + file.string();
  if (has_secret && profiles.warning.empty())
    profiles.warning = open_secret_warning(file, contents->mode);
  return {};
}

Result<Profiles> read_profiles(const ProfileFiles& files, bool may_be_missing) {
  Profiles profiles;
  auto added = add_file(files.credentials, ProfileFile::kCredentials, may_be_missing, profiles);
  if (added) added = add_file(files.config, ProfileFile::kConfig, may_be_missing, profiles);
  if (!added) return std::unexpected(std::move(added.error()));
  return profiles;
}

std::string setting(const CredentialsProfile& profile, std::string_view name) {
  const auto found = profile.find(name);
  return found == profile.end() ? std::string() : found->second;
}

class Chooser {
 public:
  Chooser(const ProfileFiles& files, const Profiles& profiles, const Environment& environment)
      : files_(files), profiles_(profiles), environment_(environment) {}

  /// The keys of the profile itself, though it may have a role: they can sign for that.
  [[nodiscard]] Result<Credentials> own_keys(const std::string& name) const {
    const auto found = profiles_.all.find(name);
    if (found == profiles_.all.end()) return missing(name);
    const auto chosen = keys(name, found->second);
    if (!chosen) return std::unexpected(chosen.error());
    return std::get<KeysInFile>(chosen->source).keys;
  }

  [[nodiscard]] Result<CredentialChoice> choose(const std::string& name, int roles) const {
    const auto found = profiles_.all.find(name);
    if (found == profiles_.all.end()) return missing(name);
    const CredentialsProfile& profile = found->second;
    if (profile.contains("role_arn") && roles < kRolesMax) return role(name, profile, roles);
    if (profile.contains("role_arn")) {
      return refuse(name, fmt::format("its chain of roles is longer than {}", kRolesMax));
    }
    return without_role(name, profile);
  }

 private:
  [[nodiscard]] Result<CredentialChoice> without_role(const std::string& name,
                                                      const CredentialsProfile& profile) const {
    if (profile.contains("aws_access_key_id") || profile.contains("aws_secret_access_key")) {
      return keys(name, profile);
    }
    if (profile.contains("credential_process")) {
      return CredentialChoice{.origin = origin(name) + " credential_process",
                              .source = KeysOfProcess{setting(profile, "credential_process")}};
    }
    if (profile.contains("sso_session") || profile.contains("sso_start_url")) {
      return sso(name, profile);
    }
    return refuse(name, "it has no aws_access_key_id, role_arn, credential_process or sso_session");
  }

  // The session is a section of its own, or, as it was before there were such, the profile itself.
  [[nodiscard]] Result<CredentialChoice> sso(const std::string& name,
                                             const CredentialsProfile& profile) const {
    const std::string session = setting(profile, "sso_session");
    const auto found = profiles_.all.find(std::string(kSsoSessionPrefix) + session);
    if (!session.empty() && found == profiles_.all.end()) {
      return refuse(name, fmt::format("there is no section [{}{}]", kSsoSessionPrefix, session));
    }
    const CredentialsProfile& place = session.empty() ? profile : found->second;
    for (const char* needed : {"sso_start_url", "sso_region"}) {
      if (!place.contains(needed)) return refuse(name, fmt::format("its SSO has no {}", needed));
    }
    for (const char* needed : {"sso_account_id", "sso_role_name"}) {
      if (!profile.contains(needed)) return refuse(name, fmt::format("it has no {}", needed));
    }
    if (environment_.home.empty()) return refuse(name, "its SSO needs HOME, which is unset");
    const std::string region = setting(place, "sso_region");
    return CredentialChoice{
        .origin = origin(name) + " SSO",
        .source = KeysOfSso{
            .portal_url = environment_.variable("AWS_ENDPOINT_URL_SSO")
                              .value_or(fmt::format("https://portal.sso.{}.amazonaws.com{}", region,
                                                    region.starts_with("cn-") ? ".cn" : "")),
            .account_id = setting(profile, "sso_account_id"),
            .role_name = setting(profile, "sso_role_name"),
            .cache_folder = environment_.home / ".aws/sso/cache",
            .cache_key = session.empty() ? setting(place, "sso_start_url") : session,
            .profile = name}};
  }

  [[nodiscard]] Result<CredentialChoice> keys(const std::string& name,
                                              const CredentialsProfile& profile) const {
    const std::string id = setting(profile, "aws_access_key_id");
    const std::string secret = setting(profile, "aws_secret_access_key");
    if (id.empty() || secret.empty()) {
      return refuse(name, fmt::format("it has no {}",
                                      id.empty() ? "aws_access_key_id" : "aws_secret_access_key"));
    }
    Credentials keys{.access_key_id = id,
                     .secret_access_key = secret,
                     .session_token = setting(profile, "aws_session_token")};
    return CredentialChoice{.origin = origin(name),
                            .warning = profiles_.warning,
                            .source = KeysInFile{.keys = std::move(keys),
                                                 .credentials_file = files_.credentials,
                                                 .config_file = files_.config,
                                                 .profile = name}};
  }

  [[nodiscard]] Result<CredentialChoice> role(const std::string& name,
                                              const CredentialsProfile& profile, int roles) const {
    const std::string arn = setting(profile, "role_arn");
    std::string session = setting(profile, "role_session_name");
    if (session.empty()) session = role_session_name(environment_);
    if (profile.contains("mfa_serial")) {
      return refuse(name, "its mfa_serial needs a person; use a role without it");
    }
    if (const std::string file = setting(profile, "web_identity_token_file"); !file.empty()) {
      return CredentialChoice{
          .origin = origin(name) + " role " + arn,
          .source = KeysOfWebIdentity{
              .role_arn = arn, .session_name = session, .token_file = absolute(file)}};
    }
    auto source = source_of_role(name, profile, roles);
    if (!source) return source;
    return CredentialChoice{
        .origin = origin(name) + " role " + arn,
        .warning = source->warning,
        .source =
            KeysOfRole{.role_arn = arn,
                       .session_name = session,
                       .external_id = setting(profile, "external_id"),
                       .source = std::make_shared<const CredentialChoice>(std::move(*source))}};
  }

  [[nodiscard]] Result<CredentialChoice> source_of_role(const std::string& name,
                                                        const CredentialsProfile& profile,
                                                        int roles) const {
    const std::string source = setting(profile, "source_profile");
    const std::string place = setting(profile, "credential_source");
    if (source.empty() == place.empty()) {
      return refuse(name,
                    "its role_arn needs one of source_profile, credential_source and "
                    "web_identity_token_file");
    }
    if (source == name) return without_role(name, profile);
    if (!source.empty()) return choose(source, roles + 1);
    return from_place(name, place);
  }

  [[nodiscard]] Result<CredentialChoice> from_place(const std::string& name,
                                                    const std::string& place) const {
    Environment only = environment_;
    if (place == "Environment") {
      if (!environment_.variable("AWS_ACCESS_KEY_ID")) {
        return refuse(name, "its credential_source is Environment, and AWS_ACCESS_KEY_ID is unset");
      }
    } else if (place == "EcsContainer") {
      if (!environment_.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") &&
          !environment_.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
        return refuse(name,
                      "its credential_source is EcsContainer, and "
                      "AWS_CONTAINER_CREDENTIALS_FULL_URI is unset");
      }
      only.variables.erase("AWS_ACCESS_KEY_ID");
      only.variables.erase("AWS_SECRET_ACCESS_KEY");
    } else if (place == "Ec2InstanceMetadata") {
      std::erase_if(only.variables, [](const auto& each) {
        return each.first.starts_with("AWS_") && !each.first.starts_with("AWS_EC2_METADATA");
      });
    } else {
      return refuse(name,
                    "its credential_source is not Environment, EcsContainer or "
                    "Ec2InstanceMetadata");
    }
    for (const char* other : {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE",
                              "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"}) {
      only.variables.erase(other);
    }
    only.home.clear();
    return choose_credentials({}, only);
  }

  [[nodiscard]] std::string origin(const std::string& name) const {
    return fmt::format("{} [{}]", profiles_.files, name);
  }
  [[nodiscard]] std::unexpected<Error> refuse(const std::string& name, std::string_view why) const {
    return fail(ErrorCode::kConfig,
                fmt::format("{}: section [{}]: {}", profiles_.files, name, why));
  }
  [[nodiscard]] std::unexpected<Error> missing(const std::string& name) const {
    std::string names;
    for (const auto& [each, settings] : profiles_.all) {
      if (each.starts_with(kSsoSessionPrefix)) continue;
      names += (names.empty() ? "" : ", ") + each;
    }
    return fail(ErrorCode::kConfig, fmt::format("{}: no section [{}]; it has: {}", profiles_.files,
                                                name, names.empty() ? "none" : names));
  }

  const ProfileFiles& files_;
  const Profiles& profiles_;
  const Environment& environment_;
};

}  // namespace

std::filesystem::path absolute(const std::filesystem::path& file) {
  if (file.empty()) return file;
  std::error_code failed;
  auto whole = std::filesystem::absolute(file, failed);
  return failed ? file : whole;
}

ProfileFiles shared_profile_files(const Environment& environment) {
  const std::filesystem::path folder =
      environment.home.empty() ? std::filesystem::path() : environment.home / ".aws";
  const auto of = [&](const char* variable, const char* name) -> std::filesystem::path {
    if (auto given = environment.variable(variable)) return absolute(*given);
    return folder.empty() ? std::filesystem::path() : folder / name;
  };
  return {.credentials = of("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
          .config = of("AWS_CONFIG_FILE", "config")};
}

Result<std::optional<CredentialChoice>> find_profile(const ProfileFiles& files,
                                                     const std::string& profile, bool must_be_there,
                                                     const Environment& environment) {
  const auto profiles = read_profiles(files, /*may_be_missing=*/true);
  if (!profiles) return std::unexpected(profiles.error());
  if (profiles->files.empty() && must_be_there) {
    return fail(ErrorCode::kConfig,
                fmt::format("no profile '{}': neither {} nor {} is there", profile,
                            files.credentials.string(), files.config.string()));
  }
  const auto found = profiles->all.find(profile);
  const bool is_missing = found == profiles->all.end();
  if (is_missing ? !must_be_there : found->second.empty()) return std::nullopt;
  return Chooser(files, *profiles, environment).choose(profile, 0);
}

Result<CredentialChoice> choose_profile(const ProfileFiles& files, const std::string& profile,
                                        const Environment& environment) {
  const auto profiles = read_profiles(files, /*may_be_missing=*/false);
  if (!profiles) return std::unexpected(profiles.error());
  return Chooser(files, *profiles, environment).choose(profile, 0);
}

Result<Credentials> read_keys(const KeysInFile& source) {
  const ProfileFiles files{.credentials = source.credentials_file, .config = source.config_file};
  // A credentials file that the mount file names has none beside it, and must be there.
  const auto profiles = read_profiles(files, /*may_be_missing=*/!files.config.empty());
  if (!profiles) return std::unexpected(profiles.error());
  return Chooser(files, *profiles, {}).own_keys(source.profile);
}

std::string role_session_name(const Environment& environment) {
  return environment.variable("AWS_ROLE_SESSION_NAME").value_or("s3rdmafs");
}

}  // namespace s3rdmafs::config
