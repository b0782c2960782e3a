// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "csi/volume/volume_use.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// Whose keys sign the requests of a mount.
enum class Authentication {
  kSecret,     ///< those of the volume's Secret
  kPod,        ///< a role for the pod's service account
  kNode,       ///< what the node itself has: the driver's environment, the instance
  kAnonymous,  ///< none
};

/// A volume as its author describes it. Plain value.
struct VolumeSettings {
  Texts keys;  ///< of the mount file, by full name
  Authentication authentication = Authentication::kSecret;
  std::string role_arn;                ///< with kPod
  std::string audience;                ///< with kPod: of the token
  bool read_only = false;              ///< of this use: the pod's own mount cannot write
  std::uint64_t mount_attributes = 0;  ///< of the pod's own mount: MOUNT_ATTR_* of mount_setattr(2)

  /// Equal for two uses that are one: all but the identity.
  [[nodiscard]] std::string digest_text() const;
};

/// Reads attributes, mount options, group and access mode; checked, but not as a mount file
/// (make_mount_file does). Errors: kInvalidArgument, naming attribute or option.
[[nodiscard]] Result<VolumeSettings> read_settings(const VolumeUse& use);

}  // namespace s3rdmafs::csi
