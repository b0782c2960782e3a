// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::daemon {

/// Tells systemd that the mount answers (sd_notify(3)). Does nothing unless systemd started this
/// process with Type=notify.
/// @param status  shown by `systemctl status`; control characters are escaped
void notify_ready(const std::string& status);
/// Tells systemd that the mount is ending.
void notify_stopping();

}  // namespace s3rdmafs::daemon
