// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// One mount of this process's name space.
struct MountEntry {
  std::string point;
  std::string device;      ///< "major:minor": equal for all mounts of one file system
  std::string type;        ///< "fuse.s3rdma"
  bool read_only = false;  ///< this mount of it
};

/// Reads the text of /proc/self/mountinfo, proc_pid_mountinfo(5); lines that it cannot read are
/// left out.
[[nodiscard]] std::vector<MountEntry> parse_mount_table(std::string_view text);

/// The topmost mount on exactly this path, which has no symbolic link in it. Errors: kSystem.
[[nodiscard]] Result<std::optional<MountEntry>> mount_on(const std::string& path);

/// Whether it is a mount of s3rdmafs.
[[nodiscard]] bool is_ours(const MountEntry& entry) noexcept;

}  // namespace s3rdmafs::csi
