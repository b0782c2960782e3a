// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The absolute, resolved path of a mount point, for looking things up by it.
/// Errors: kNotFound, kNotDirectory, kSystem; for a mount whose daemon died, with what to do.
[[nodiscard]] Result<std::string> resolve_mount_point(const std::string& path);

/// resolve_mount_point, and that one may mount there: no FUSE file system is mounted on it already.
/// Errors: also kExists.
[[nodiscard]] Result<std::string> check_mount_point(const std::string& path);

}  // namespace s3rdmafs::daemon
