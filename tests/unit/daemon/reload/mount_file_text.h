// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/load.h"

namespace s3rdmafs::daemon {

/// A mount file that needs nothing more, and these lines after it, as it would be read now.
[[nodiscard]] inline Result<config::LoadedConfig> load_with(const std::string& lines) {
  return config::load_mount_config_text(
      "[bucket]\nname = \"train\"\n[endpoint]\nurl = \"http://127.0.0.1:9000\"\n" + lines,
      "train.toml", {});
}

}  // namespace s3rdmafs::daemon
