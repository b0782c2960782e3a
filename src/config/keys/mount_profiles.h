// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "config/mount_config.h"

namespace s3rdmafs::config {

/// A key that a profile gives another default. A key that is set anywhere keeps its value.
struct ProfileLine {
  Profile profile;
  std::string_view section;
  std::string_view name;
  std::string_view text;  ///< as the mount file would say it, without quotes
};

/// Every line of every profile. s3rdmafs.toml(5) is tested against them.
[[nodiscard]] std::span<const ProfileLine> profile_lines() noexcept;

/// The profile's name in the mount file.
[[nodiscard]] std::string_view profile_name(Profile profile) noexcept;

}  // namespace s3rdmafs::config
