// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/mount_config.h"

namespace s3rdmafs::config {

/// Two keys that contradict each other, or one that needs another.
struct Conflict {
  std::string_view section, name;  ///< of the one that is easier to change
  std::string detail;              ///< follows its name: "belongs to an access_key_id, ..."
};

/// All of a mount file whose values are good one by one.
[[nodiscard]] std::vector<Conflict> conflicts_in(const MountConfig& config);

}  // namespace s3rdmafs::config
