// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuse/lowlevel.h"

namespace s3rdmafs::fuse {

/// The operations of fuse/ops, and in front of them those on StatusFiles. Its own inodes never
/// reach vfs/.
[[nodiscard]] fuse_lowlevel_ops table_with_status_files() noexcept;

}  // namespace s3rdmafs::fuse
