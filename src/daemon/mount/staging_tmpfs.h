// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/mount_config.h"

namespace s3rdmafs::daemon {

/// The file system in memory that the staging folder of a mount is, where the mount chooses the
/// folder (write.staging_dir = "auto") and may mount one, as root. It is no larger than
/// write.staging_size, so the kernel can write files there by itself
/// (upload/staged/staging_area.h). It outlives a killed daemon, and its files with it.
/// Thread-bound; calls block for the kernel.
class StagingTmpfs {
 public:
  /// Mounts it, or takes the one of an earlier mount, before the folder is used. Nothing: the
  /// folder is to be used as it is; the log says why.
  [[nodiscard]] static std::optional<StagingTmpfs> make(const config::MountConfig& config,
                                                        const std::string& folder);
  /// Takes the one of an earlier mount, if there is one.
  [[nodiscard]] static std::optional<StagingTmpfs> find(const config::MountConfig& config,
                                                        const std::string& folder);
  /// Unmounts it unless staged files are left in it. The folder is not used any more.
  ~StagingTmpfs();
  StagingTmpfs(StagingTmpfs&& other) noexcept;
  StagingTmpfs& operator=(StagingTmpfs&&) = delete;

 private:
  explicit StagingTmpfs(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  ///< empty: moved from
};

}  // namespace s3rdmafs::daemon
