// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/load.h"

namespace s3rdmafs::config {

/// The effective configuration as TOML that loads to the same values, with each value's source in a
/// comment after it. Secrets that are set show as "********".
[[nodiscard]] std::string print_config(const LoadedConfig& loaded);

}  // namespace s3rdmafs::config
