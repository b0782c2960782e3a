// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::daemon::doctor {

/// The first line of a file of /proc or /sys; empty where it cannot be read.
[[nodiscard]] std::string first_line(const std::string& path);

/// Whether this process has the capability (capabilities(7)) in effect.
[[nodiscard]] bool has_capability(unsigned number);

}  // namespace s3rdmafs::daemon::doctor
