// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/top/top_model.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Asks the daemon of a mount point for its numbers and for what is open. Blocks for 4 s at most.
/// Errors: kNotFound (this user has no mount there), kTimedOut, kProtocol, kSystem.
[[nodiscard]] Result<TopSample> take_sample(const std::string& mount_point);

}  // namespace s3rdmafs::daemon
