// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/mount_config.h"

namespace s3rdmafs::daemon {

/// The local folders of a mount that stages files.
struct WriteFolders {
  std::string staging;  ///< write.staging_dir, "auto" resolved
  std::string state;    ///< write.state_dir, "auto" resolved
};

/// Reads the environment: see journal::default_state_folder.
/// @param mount_point  absolute
[[nodiscard]] WriteFolders write_folders(const config::MountConfig& config,
                                         const std::string& mount_point);

}  // namespace s3rdmafs::daemon
