// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

struct SmallFile {
  std::string text;
  mode_t mode = 0;  ///< permission bits
};

/// Reads a regular file of at most 1 MiB: a larger one is no mount or credentials file, and reading
/// it would only cost memory. Errors: kConfig, "FILE: why".
[[nodiscard]] Result<SmallFile> read_small_file(const std::filesystem::path& file);

}  // namespace s3rdmafs::config
