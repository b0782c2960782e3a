// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/keys/schema.h"
#include "config/mount_config.h"
#include "config/toml_document.h"

namespace s3rdmafs::config {

/// The name of the array of tables [[bucket]], and the key that only its tables have.
inline constexpr std::string_view kBucketTable = "bucket";
inline constexpr std::string_view kDirectoryKey = "directory";
/// Each takes event threads and connections of its own.
inline constexpr std::size_t kBucketTablesMax = 64;

/// The contents of the tables [[bucket]] of a mount file.
struct BucketTables {
  struct Problem {
    Position position;
    std::string what;    ///< "[[bucket]] endpoint.url"
    std::string detail;  ///< follows it
  };

  std::vector<MountConfig::Directory> directories;  ///< in the order of the file
  std::vector<Problem> problems;
  bool hold_secret = false;  ///< a key of a table is a secret
};

/// Reads the tables called "bucket"; ignores others.
/// @param base      the mount's own settings, which a table takes what it does not say from. Of
///                  [credentials] it takes all or, where it says anything of them, nothing
/// @param is_given  whether the mount's own settings have this key other than by default
[[nodiscard]] BucketTables read_bucket_tables(std::span<const TomlTable> tables,
                                              const MountConfig& base,
                                              const std::function<bool(const Key&)>& is_given);

}  // namespace s3rdmafs::config
