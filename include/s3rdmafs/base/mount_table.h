// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {

/// One mount of a mount name space.
struct MountEntry {
  std::string point;
  std::string device;      ///< "major:minor": equal for all mounts of one file system
  std::string type;        ///< "fuse.s3rdma"
  std::string source;      ///< what is mounted, by the file system's own account
  bool read_only = false;  ///< this mount of it
};

/// Reads the text of /proc/self/mountinfo, proc_pid_mountinfo(5); lines that it cannot read are
/// left out.
[[nodiscard]] std::vector<MountEntry> parse_mount_table(std::string_view text);

/// The mounts of a process's name space. Errors: kSystem, also for a process that has ended.
/// @param process  its folder in /proc
[[nodiscard]] Result<std::vector<MountEntry>> mount_table_of(const std::string& process);

/// The topmost mount on exactly this path, which has no symbolic link in it. Asks no file system,
/// so that a hung one cannot hold the caller. Errors: kSystem.
[[nodiscard]] Result<std::optional<MountEntry>> mount_on(const std::string& path);

/// Whether it is a mount of s3rdmafs.
[[nodiscard]] bool is_ours(const MountEntry& entry) noexcept;

}  // namespace s3rdmafs
