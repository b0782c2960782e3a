// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace s3rdmafs::csi {

/// The one that may set a key of the mount file.
enum class KeySetter {
  kVolume,  ///< an attribute or a mount option of the volume
  kSecret,  ///< a Secret of the volume
  kDriver,  ///< the driver alone: a path of the node, or a thing of the daemon
};

/// Of a key by its full name, "cache.size". A name that is not listed is the driver's: a new key of
/// the mount file is closed until it is decided on (tests/unit/csi sees to that).
[[nodiscard]] KeySetter setter_of(std::string_view full_name) noexcept;

/// Whether the table has the name.
[[nodiscard]] bool is_decided(std::string_view full_name) noexcept;

}  // namespace s3rdmafs::csi
