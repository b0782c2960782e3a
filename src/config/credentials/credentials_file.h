// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The settings of one section of an AWS credentials or config file that say where keys come from;
/// others are skipped. No setting is empty.
using CredentialsProfile = std::map<std::string, std::string, std::less<>>;

/// In front of the name of a section that several profiles share, as the files and the result have
/// it.
inline constexpr std::string_view kSsoSessionPrefix = "sso-session ";

/// Which of the two files a text is. Sections of a config file are written "[profile NAME]", all
/// but
/// "[default]".
enum class ProfileFile { kCredentials, kConfig };

/// Reads the INI form that the AWS tools share: `[profile]` lines, `name = value` lines, "#" and
/// ";" comments on lines of their own, values without quotes (a command may have some); an indented
/// line continues a setting, as nested settings are written. A config file may have lines
/// and values that say nothing; its other settings are many. messages call the text `name`. Errors:
/// kConfig, "NAME:LINE: the error"; never a value, as it may be a secret.
[[nodiscard]] Result<std::map<std::string, CredentialsProfile>> parse_credentials_file(
    std::string_view text, std::string_view name, ProfileFile kind = ProfileFile::kCredentials);

}  // namespace s3rdmafs::config
