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
  uid_t owner = 0;
  gid_t group = 0;
};

/// A warning if users other than its owner may read a file that holds a secret; else empty.
[[nodiscard]] std::string open_secret_warning(const std::filesystem::path& file, mode_t mode);
/// A warning if users other than root may write a file that root mounts by; else empty.
[[nodiscard]] std::string open_to_change_warning(const std::filesystem::path& file,
                                                 const SmallFile& contents);

/// Reads a regular file of at most 1 MiB: a larger one is not a mount or credentials file, and
/// reading it would only cost memory. Errors: kConfig, "FILE: why".
[[nodiscard]] Result<SmallFile> read_small_file(const std::filesystem::path& file);

}  // namespace s3rdmafs::config
