// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Work that says when it is up, and then goes on until it is told to end.
using Service = std::function<Result<void>(const std::function<void()>& ready)>;

/// Runs `service` in a daemon process, and returns in this one when the service says that it is
/// ready, or with the error by which it ended before that. In the daemon this never returns.
/// Call before any thread is started.
[[nodiscard]] Result<void> run_in_background(const Service& service);

}  // namespace s3rdmafs::daemon
