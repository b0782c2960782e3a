// SPDX-License-Identifier: Apache-2.0
#include "credentials/metadata_keys.h"

#include <string>
#include <string_view>

#include "config/read_file.h"
#include "credentials/http_call.h"
#include "credentials/keys_document.h"
#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::credentials {
namespace {

constexpr std::string_view kRolePath = "/latest/meta-data/iam/security-credentials/";

/// The body of an answer with status 200.
Result<std::string> get_body(const HttpCall& call, const std::stop_token& stop) {
  auto answer = call_http(call, stop);
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status == 200) return std::move(answer->body);
  const bool is_refused = answer->status == 401 || answer->status == 403;
  return fail(is_refused ? ErrorCode::kAccessDenied : ErrorCode::kUnreachable,
              fmt::format("{}: status {}", call.url, answer->status));
}

}  // namespace

Result<FetchedKeys> ContainerKeys::fetch(const std::stop_token& stop) {
  std::string authorization = source_.authorization;
  if (!source_.authorization_file.empty()) {
    const auto file = config::read_small_file(source_.authorization_file);
    if (!file) return std::unexpected(file.error());
    authorization = ascii_trimmed(file->text);
  }
  if (authorization.find_first_of("\r\n") != std::string::npos) {
    return fail(ErrorCode::kConfig, "the container's authorization token has more than one line");
  }
  HttpCall call{.url = source_.url, .is_on_this_host = true};
  if (!authorization.empty()) call.headers.push_back("Authorization: " + authorization);
  const auto body = get_body(call, stop);
  if (!body) return std::unexpected(body.error());
  return parse_keys(*body, source_.url);
}

Result<FetchedKeys> InstanceKeys::fetch(const std::stop_token& stop) {
  const auto token = get_body({.method = "PUT",
                               .url = source_.url + "/latest/api/token",
                               .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                               .is_on_this_host = true},
                              stop);
  if (!token) return std::unexpected(token.error());
  HttpCall call{.url = source_.url + std::string(kRolePath),
                .headers = {"X-aws-ec2-metadata-token: " + std::string(ascii_trimmed(*token))},
                .is_on_this_host = true};
  const auto roles = get_body(call, stop);
  if (!roles) return std::unexpected(roles.error());
  const std::string role = roles->substr(0, roles->find('\n'));
  if (role.empty()) return fail(ErrorCode::kAccessDenied, "the instance has no role");
  call.url += role;
  const auto keys = get_body(call, stop);
  if (!keys) return std::unexpected(keys.error());
  return parse_keys(*keys, call.url);
}

}  // namespace s3rdmafs::credentials
