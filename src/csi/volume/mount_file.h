// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "csi/volume/identity.h"
#include "csi/volume/volume_settings.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// The places of one mount on the node. Plain value.
struct MountPlaces {
  std::string folder;   ///< of the mount's files
  std::string journal;  ///< write.state_dir
};

/// A mount file, which s3rdmafs takes as it is.
struct MountFile {
  std::string text;
  bool may_write = false;
};

/// Errors: kInvalidArgument, with one line for each key that is wrong, as s3rdmafs says it.
[[nodiscard]] Result<MountFile> make_mount_file(const VolumeSettings& settings,
                                                const Identity& identity,
                                                const MountPlaces& places);

/// The file that credentials.file names, for Authentication::kPod: a role for the token in the
/// mount's folder.
[[nodiscard]] std::string credentials_text(const VolumeSettings& settings,
                                           const MountPlaces& places);

/// Names of files in the mount's folder.
inline constexpr const char* kMountFile = "mount.toml";
inline constexpr const char* kCredentialsFile = "credentials";
inline constexpr const char* kLogFile = "log";

}  // namespace s3rdmafs::csi
