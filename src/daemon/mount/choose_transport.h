// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Whether requests come over io_uring instead of /dev/fuse. With "auto" logs once how io_uring can
/// be had. Errors: kUnsupported where io_uring was asked for and is not available, with advice.
[[nodiscard]] Result<bool> choose_ring(config::Transport wish);

}  // namespace s3rdmafs::daemon
