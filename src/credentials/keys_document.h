// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "credentials/key_source.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::credentials {

/// "2026-11-23T18:15:00Z", also with a fraction or an offset ("+01:00"); nothing for other texts.
/// A time before 1970 or after 2200 becomes the nearest of these.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parse_time(
    std::string_view text);

/// The JSON object that programs, containers and instances give: AccessKeyId, SecretAccessKey,
/// SessionToken or Token, Expiration. Errors: kProtocol, which names the member that is wrong and
/// never a value; `where` begins the message.
[[nodiscard]] Result<FetchedKeys> parse_keys(std::string_view json, std::string_view where);

/// The same of a program (credential_process of the AWS tools): it must have "Version": 1.
[[nodiscard]] Result<FetchedKeys> parse_process_keys(std::string_view json);

/// A person's sign-in.
struct SsoToken {
  std::string text;
  std::chrono::system_clock::time_point end;
};

/// The file of a sign-in in the cache of the AWS tools: accessToken, expiresAt. Errors: kProtocol.
[[nodiscard]] Result<SsoToken> parse_sso_token(std::string_view json, std::string_view where);

/// The keys that IAM Identity Center gives, whose end is a number of milliseconds. Errors:
/// kProtocol.
[[nodiscard]] Result<FetchedKeys> parse_sso_keys(std::string_view json, std::string_view where);

}  // namespace s3rdmafs::credentials
