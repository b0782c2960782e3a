// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Whether requests shall come over io_uring instead of /dev/fuse. Says once in the log what the
/// mount does without, and how to have it.
/// Errors: kUnsupported where it was asked for and cannot be had, with what to do.
[[nodiscard]] Result<bool> choose_ring(config::Transport wish);

}  // namespace s3rdmafs::daemon
