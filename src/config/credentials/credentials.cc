// SPDX-License-Identifier: Apache-2.0
// Where the keys of a mount come from.
//
// The order is that of the AWS tools, after what the mount file says. A place that says something
// and is not whole is an error, not a reason to look further: a mount with the wrong keys would be
// harder to understand. Only a profile that was not asked for by name may be missing.
#include "config/credentials/credentials.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "config/credentials/profiles.h"
#include "config/text_checks.h"
#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

// The addresses that AWS documents for containers and instances.
constexpr std::string_view kContainerHost = "http://169.254.170.2";
constexpr std::string_view kInstanceUrl = "http://169.254.169.254";

Result<CredentialChoice> from_aws_variables(const Environment& environment) {
  const auto id = environment.variable("AWS_ACCESS_KEY_ID");
  const auto secret = environment.variable("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) {
    return fail(ErrorCode::kConfig,
                fmt::format("{} is set but {} is not; set both or none",
                            id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                            id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
  }
  return CredentialChoice{
      .origin = "environment AWS_ACCESS_KEY_ID",
      .source =
          Credentials{.access_key_id = *id,
                      .secret_access_key = *secret,
                      .session_token = environment.variable("AWS_SESSION_TOKEN").value_or("")}};
}

Result<CredentialChoice> from_web_identity(const Environment& environment) {
  const auto role = environment.variable("AWS_ROLE_ARN");
  if (!role) {
    return fail(ErrorCode::kConfig,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not; set both or none");
  }
  return CredentialChoice{
      .origin = "environment AWS_WEB_IDENTITY_TOKEN_FILE, role " + *role,
      .source = KeysOfWebIdentity{
          .role_arn = *role,
          .session_name = role_session_name(environment),
          .token_file = absolute(*environment.variable("AWS_WEB_IDENTITY_TOKEN_FILE"))}};
}

// Plain HTTP only to this machine and to the addresses that AWS documents: the answer is a secret.
bool may_ask_over_http(std::string_view url) {
  constexpr auto kHosts = std::to_array<std::string_view>(
      {"localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"});
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return false;
  std::string_view host = url.substr(kScheme.size());
  host = host.substr(0, host.find_first_of("/?#"));
  if (const std::size_t colon = host.find_last_of(':'); !host.ends_with(']')) {
    const std::string_view port = host.substr(std::min(host.size(), colon));
    if (port.find_first_not_of("0123456789", 1) == std::string_view::npos) {
      host = host.substr(0, host.size() - port.size());
    }
  }
  const bool is_address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  if (is_address && host.starts_with("127.")) return true;
  return std::ranges::find(kHosts, host) != kHosts.end();
}

bool has_user(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return false;
  const std::string_view rest = url.substr(scheme_end + 3);
  return rest.substr(0, rest.find_first_of("/?#")).contains('@');
}

Result<CredentialChoice> from_container(const Environment& environment) {
  const auto relative = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative && !relative->starts_with('/')) {
    return fail(ErrorCode::kConfig,
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\"");
  }
  const std::string url = relative ? std::string(kContainerHost) + *relative : *full;
  if (has_user(url)) {  // not shown: it may be a secret
    return fail(ErrorCode::kConfig, "AWS_CONTAINER_CREDENTIALS_FULL_URI has a user name");
  }
  if (!url.starts_with("https://") && !may_ask_over_http(url)) {
    return fail(ErrorCode::kConfig,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI is '" + url +
                    "'; expected https://, or http:// to this machine, 169.254.170.2, "
                    "169.254.170.23 or [fd00:ec2::23]");
  }
  return CredentialChoice{
      .origin = "the container's credentials endpoint " + url,
      .source = KeysOfContainer{
          .url = url,
          .authorization = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or(""),
          .authorization_file = absolute(
              environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").value_or(""))}};
}

CredentialChoice from_instance(const Environment& environment) {
  std::string url =
      environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(std::string(kInstanceUrl));
  while (url.ends_with('/')) url.pop_back();
  return {.origin = "the instance's role, from " + url, .source = KeysOfInstance{.url = url}};
}

std::optional<std::string> asked_profile(const MountConfig::Credentials& config,
                                         const Environment& environment) {
  if (!config.profile.empty()) return config.profile;
  return environment.variable("AWS_PROFILE");
}

Result<CredentialChoice> choose(const MountConfig::Credentials& config,
                                const Environment& environment) {
  if (config.anonymous) {
    return CredentialChoice{.origin = "credentials.anonymous",
                            .source = Credentials{.anonymous = true}};
  }
  if (!config.access_key_id.empty() && !config.secret_access_key.empty()) {
    return CredentialChoice{.origin = "credentials.access_key_id",
                            .source = Credentials{.access_key_id = config.access_key_id,
                                                  .secret_access_key = config.secret_access_key,
                                                  .session_token = config.session_token}};
  }
  const auto asked = asked_profile(config, environment);
  const std::string profile = asked.value_or("default");
  if (!config.file.empty()) {
    return choose_profile({.credentials = config.file, .config = {}}, profile, environment);
  }
  const ProfileFiles shared = shared_profile_files(environment);
  // A profile that the mount file names is not overruled by the environment.
  if (config.profile.empty()) {
    if (environment.variable("AWS_ACCESS_KEY_ID") ||
        environment.variable("AWS_SECRET_ACCESS_KEY")) {
      return from_aws_variables(environment);
    }
    if (environment.variable("AWS_WEB_IDENTITY_TOKEN_FILE")) return from_web_identity(environment);
  }
  auto found = find_profile(shared, profile, /*must_be_there=*/asked.has_value(), environment);
  if (!found) return std::unexpected(std::move(found.error()));
  if (*found) return **std::move(found);
  if (environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
      environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    return from_container(environment);
  }
  const std::string searched = fmt::format(
      "no credentials; looked at credentials.access_key_id and credentials.file in the mount file, "
      "at AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_CONTAINER_CREDENTIALS_FULL_URI in "
      "the environment, and at {}; for a public bucket set credentials.anonymous = true",
      environment.home.empty() ? "~/.aws/credentials (HOME is not set)"
                               : shared.credentials.string() + " and " + shared.config.string());
  if (ascii_lower(environment.variable("AWS_EC2_METADATA_DISABLED").value_or("")) == "true") {
    return fail(ErrorCode::kConfig, searched);
  }
  CredentialChoice choice = from_instance(environment);
  choice.searched = searched;
  return choice;
}

Result<std::string> sts_url(const MountConfig& config, const Environment& environment) {
  if (!config.credentials.sts_url.empty()) return config.credentials.sts_url;
  if (const auto url = environment.variable("AWS_ENDPOINT_URL_STS")) {
    auto checked = check_endpoint_url(*url);
    if (!checked) return fail_with_context("AWS_ENDPOINT_URL_STS", checked.error());
    return checked;
  }
  const std::string& region = config.endpoint.region;
  return fmt::format("https://sts.{}.amazonaws.com{}", region,
                     region.starts_with("cn-") ? ".cn" : "");
}

}  // namespace

Result<CredentialChoice> choose_credentials(const MountConfig& config,
                                            const Environment& environment) {
  auto choice = choose(config.credentials, environment);
  if (!choice) return choice;
  auto url = sts_url(config, environment);
  if (!url) return std::unexpected(std::move(url.error()));
  choice->sts_url = std::move(*url);
  return choice;
}

}  // namespace s3rdmafs::config
