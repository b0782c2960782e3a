// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Where in the mount a path or pattern of the command line points, for PathGlob::anchored().
/// @param mount_point  resolved
/// @param argument     absolute, or from the current directory on; where that leads out of the
///                     mount, from the mount point on
/// Errors: kInvalidArgument: it is not in the mount.
[[nodiscard]] Result<std::string> path_in_mount(const std::string& mount_point,
                                                const std::string& argument,
                                                const std::string& current_directory);

}  // namespace s3rdmafs::daemon
