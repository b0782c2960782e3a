// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The daemon's work: calls `ready` once when it serves, and returns when it has ended.
using Service = std::function<Result<void>(const std::function<void()>& ready)>;

/// Runs `service` in a new daemon process. Returns in this process once the service is ready, or
/// with the error that ended it before. In the daemon it never returns. Call before any thread is
/// started. Errors: kSystem; the detail is fit to be shown to the user as it stands.
[[nodiscard]] Result<void> run_in_background(const Service& service);

}  // namespace s3rdmafs::daemon
