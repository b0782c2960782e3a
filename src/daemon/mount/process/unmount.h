// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Takes what is mounted on `mount_point` away, by umount2(2), or for users other than root by
/// fusermount3. Does not wait for the daemon. From any thread.
/// @param lazy  detach it now, though it is in use; its users keep it
/// Errors: kInvalidArgument where nothing is mounted there; kSystem.
[[nodiscard]] Result<void> unmount(const std::string& mount_point, bool lazy);

}  // namespace s3rdmafs::daemon
