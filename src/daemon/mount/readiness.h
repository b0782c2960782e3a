// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::daemon {

/// Tells systemd, if it started us with Type=notify, that the mount answers; `status` is what
/// `systemctl status` shows (sd_notify(3)).
void notify_ready(const std::string& status);
void notify_stopping();

}  // namespace s3rdmafs::daemon
