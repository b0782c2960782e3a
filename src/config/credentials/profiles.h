// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config/credentials/credentials.h"
#include "config/environment.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The two files of the AWS tools that have profiles. Either may be missing, or its path empty.
struct ProfileFiles {
  std::filesystem::path credentials;
  std::filesystem::path config;
};

/// The path from "/" on: the daemon has another working directory than its user. Empty stays so.
[[nodiscard]] std::filesystem::path absolute(const std::filesystem::path& file);

/// ~/.aws/credentials and ~/.aws/config, unless AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE
/// name others.
[[nodiscard]] ProfileFiles shared_profile_files(const Environment& environment);

/// Where the keys of a profile come from; a role may take those of other profiles. Errors: kConfig.
[[nodiscard]] Result<CredentialChoice> choose_profile(const ProfileFiles& files,
                                                      const std::string& profile,
                                                      const Environment& environment);
/// The same; nothing where the profile says nothing of keys, having a region or the like, or is
/// missing although it need not be there. Errors: also kConfig where it must, and is not.
[[nodiscard]] Result<std::optional<CredentialChoice>> find_profile(const ProfileFiles& files,
                                                                   const std::string& profile,
                                                                   bool must_be_there,
                                                                   const Environment& environment);

/// The name of a role's sessions, which a server's log has: AWS_ROLE_SESSION_NAME, or "s3rdmafs".
[[nodiscard]] std::string role_session_name(const Environment& environment);

}  // namespace s3rdmafs::config
