// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/doctor/check.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/report/report.h"

namespace s3rdmafs::daemon::doctor {

/// Everything that doctor checks: the machine, the mount file, and the bucket. Where the file has
/// tables [[bucket]], each of them has its own entries, named "DIRECTORY: CHECK". Blocks until the
/// last check has ended. The secrets of all buckets are in the context then.
/// @param of_bucket  the checks of one bucket
[[nodiscard]] Report examine(Context& context, const Checks& of_bucket = bucket_checks());

}  // namespace s3rdmafs::daemon::doctor
