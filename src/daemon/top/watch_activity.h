// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/top/activity_report.h"
#include "fuse/watch/activity.h"
#include "vfs/file_system.h"

namespace s3rdmafs::daemon {

/// The files that are open now, with names: paths from the file system, processes from /proc.
/// `bucket`, `endpoint` and `age` are left to the caller. Any thread.
[[nodiscard]] ActivityReport watch_activity(const fuse::Activity& activity,
                                            const vfs::FileSystem& file_system);

}  // namespace s3rdmafs::daemon
