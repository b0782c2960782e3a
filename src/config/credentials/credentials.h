// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/environment.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The keys that sign requests. The secret and the token must never be logged.
struct Credentials {
  bool anonymous = false;  ///< requests go unsigned; all other fields are empty
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< empty: none
  std::string origin;         ///< for the log: "the mount file", "/root/.aws/credentials [default]"
  std::string warning = {};   ///< of the file they are from, for the log; empty: none
};

/// Finds the keys of a mount. The first of these that is set decides; it must then
/// be whole:
///   1. credentials.anonymous
///   2. credentials.access_key_id and secret_access_key (mount file or S3RDMAFS_ environment)
///   3. credentials.file, section credentials.profile
///   4. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
///   5. ~/.aws/credentials
/// The section of 3 and 5 is credentials.profile, else AWS_PROFILE, else "default".
///
/// Errors: kConfig, with the error, or with every place that was searched.
[[nodiscard]] Result<Credentials> resolve_credentials(const MountConfig::Credentials& config,
                                                      const Environment& environment);

}  // namespace s3rdmafs::config
