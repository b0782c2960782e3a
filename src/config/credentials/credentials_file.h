// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// One section of an AWS shared credentials file. Settings that are not about static keys (such as
/// role_arn) are skipped.
struct CredentialsProfile {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
};

/// Reads the INI form that the AWS tools share: `[profile]` lines, `name = value` lines, "#" and
/// ";" comments on lines of their own, values without quotes; an indented line continues a setting,
/// as nested settings are written. messages call the text `name`. Errors: kConfig,
/// "NAME:LINE: the error"; never a value, as it may be a secret.
[[nodiscard]] Result<std::map<std::string, CredentialsProfile>> parse_credentials_file(
    std::string_view text, std::string_view name);

}  // namespace s3rdmafs::config
