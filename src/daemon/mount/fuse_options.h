// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/mount_config.h"
#include "daemon/mount/mounted_bucket.h"
#include "fuse/mount_context.h"
#include "fuse/session.h"

namespace s3rdmafs::daemon {

/// The mount file in the terms of src/fuse and src/vfs, which do not know it: owner, modes and
/// deadlines.
[[nodiscard]] fuse::MountContext::Presentation presentation_of(const config::MountConfig& config);

/// `metadata.posix`.
[[nodiscard]] vfs::PosixMetadata posix_metadata_of(config::PosixMetadata posix);

/// The `[read]` table.
[[nodiscard]] fuse::IoModePolicy::Rules read_rules(const config::MountConfig::Read& read);

/// @param over_ring  what `mount.transport` came to on this machine
[[nodiscard]] fuse::Session::Options session_options(const MountPlan& plan, bool over_ring);

}  // namespace s3rdmafs::daemon
