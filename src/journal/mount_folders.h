// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace s3rdmafs::journal {

/// A name that tells this machine from those that share a home with it, the same at each start: its
/// machine-id(5), or else its host name.
[[nodiscard]] std::string machine_name(const std::string& id_file = "/etc/machine-id");

/// A name that tells this mount from others, the same at each start: 16 hexadecimal digits.
/// @param parts  what it is made of: machine, endpoint, bucket, prefix, mount point
[[nodiscard]] std::string mount_name(std::span<const std::string> parts);

/// The folder that write.state_dir = "auto" stands for: below /var/lib for root, else in
/// $XDG_STATE_HOME or ~/.local/state (XDG Base Directory Specification), and without a home in
/// /var/tmp. It outlives a reboot. Reads the environment: call it before
/// threads begin, or where nothing changes the environment.
[[nodiscard]] std::string default_state_folder(uid_t user, const std::string& mount_name);

/// The folder that write.staging_dir = "auto" stands for, one for each user and mount: below
/// /dev/shm for root and system users, beside default_state_folder() for all others. It outlives
/// the daemon, and in /dev/shm not a reboot.
[[nodiscard]] std::string default_staging_folder(uid_t user, const std::string& mount_name);

}  // namespace s3rdmafs::journal
