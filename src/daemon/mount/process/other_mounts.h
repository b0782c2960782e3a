// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace s3rdmafs::daemon {

/// A mount of a device, and a process that sees it.
struct SeenMount {
  pid_t pid = 0;
  std::string program;      ///< its name, as the kernel has it
  std::string mount_point;  ///< in its mount name space
};

/// The mounts of this device (MountEntry::device): one in each mount name space that has any, the
/// caller's included. Name spaces are missed whose processes the caller may not look into. Source:
/// proc(5).
[[nodiscard]] std::vector<SeenMount> mounts_of(const std::string& device);

}  // namespace s3rdmafs::daemon
