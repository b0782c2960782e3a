// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/top/activity_report.h"
#include "fuse/mount_context.h"

namespace s3rdmafs::daemon {

/// The files that are open now, with names: paths from the file system, processes from /proc.
/// `bucket`, `endpoint` and `age` are left to the caller. Any thread.
[[nodiscard]] ActivityReport watch_activity(const fuse::MountContext& mount);

}  // namespace s3rdmafs::daemon
