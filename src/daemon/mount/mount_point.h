// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The absolute path of a mount point without symbolic links, by which its sockets are found.
/// Errors: kNotFound, kNotDirectory, kSystem (also for a mount whose daemon died, with advice).
[[nodiscard]] Result<std::string> resolve_mount_point(const std::string& path);

/// The same for a new mount: it must be a directory on which no FUSE file system is mounted, but
/// for a mount of s3rdmafs whose daemon died: that one serves no request, and free_mount_point
/// takes it away. Errors: those of resolve_mount_point; kExists where a FUSE file system is mounted
/// on it.
[[nodiscard]] Result<std::string> check_mount_point(const std::string& path);

/// Detaches mounts of s3rdmafs whose daemon died, with a log line for each. Call it right before
/// the new mount: until then programs get ENOTCONN, where they would else find the empty directory
/// below, and write there.
/// @param path  as check_mount_point returns it
/// Errors: kSystem.
[[nodiscard]] Result<void> free_mount_point(const std::string& path);

}  // namespace s3rdmafs::daemon
