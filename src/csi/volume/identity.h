// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "csi/volume/volume_settings.h"
#include "csi/volume/volume_use.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// Whose rights a mount has, and the secrets that prove it. Plain value; never logged but for
/// `name`.
struct Identity {
  std::string name;  ///< for the log: "service account ml/trainer", "a Secret"
  Texts keys;        ///< of the mount file, by full name
  Texts files;       ///< files of the mount's folder, by name
  Texts file_keys;  ///< keys of the mount file whose value is one of these files: full name -> file

  /// Equal for two pods that may share a mount: all but a token, which changes from hour
  /// to hour.
  [[nodiscard]] std::string digest_text() const;
};

/// Of a volume and its user. With Authentication::kPod the token is taken from the context, where
/// kubelet puts it
/// (`tokenRequests` of the CSIDriver object). Errors: kInvalidArgument, kUnsupported (kubelet sends
/// no token).
[[nodiscard]] Result<Identity> make_identity(const VolumeSettings& settings, const Texts& secrets,
                                             const Texts& context);

/// The name of the file with the token of a service account, which Identity::digest_text leaves
/// out.
inline constexpr const char* kTokenFile = "token";

}  // namespace s3rdmafs::csi
