// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The inode that a program's descriptor is of. Sends no request to the mount, so the mount's own
/// daemon may ask. Errors: kInvalidArgument: no regular file on `device`, or not open for reading.
/// @param device  of the mount (stat(2), st_dev)
[[nodiscard]] Result<std::uint64_t> opened_inode(int descriptor, dev_t device);

}  // namespace s3rdmafs::daemon
