// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Makes a path or pattern of the command line relative to the mount point, for
/// PathGlob::anchored(). Looks at the file system.
/// @param mount_point  absolute, without symbolic links
/// @param argument     absolute; or relative to the current directory, or, where that leads out of
///                     the mount, to the mount point
/// Errors: kInvalidArgument where it is not in the mount.
[[nodiscard]] Result<std::string> path_in_mount(const std::string& mount_point,
                                                const std::string& argument,
                                                const std::string& current_directory);

}  // namespace s3rdmafs::daemon
