// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/keys/schema.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// One key set by a mount option: stronger than the file and the environment.
struct Override {
  const Key* key = nullptr;
  std::string text;
  std::string source;  ///< for messages: "option -o cache.size"
};

/// A mount file read, checked and completed.
struct LoadedConfig {
  MountConfig config;
  /// Where each key's value came from: "train.toml:7", "environment S3RDMAFS_CACHE_SIZE",
  /// "option -o cache.size", "from profile training" or "default". Has every key of the schema, but
  /// those of [bucket] where there are tables [[bucket]].
  std::map<const Key*, std::string> sources;
  std::vector<std::string> warnings;  ///< one line each, for the log
  bool tables_hold_secret = false;    ///< a table [[bucket]] of the file has a secret
};

/// Reads the mount file, then the environment (S3RDMAFS_SECTION_KEY), then `overrides`; the later
/// one wins, and each is checked also where it is overridden. The profile's lines are defaults.
///
/// Errors: kConfig, with all errors, one per line, as "WHERE: KEY: found value, expected values".
///         WHERE is file:line:column, the variable or the option. A syntax error of the file is
///         reported alone, since nothing after it can be trusted.
[[nodiscard]] Result<LoadedConfig> load_mount_config(const std::filesystem::path& file,
                                                     const Environment& environment,
                                                     std::span<const Override> overrides = {});

/// The same for a text in memory; messages call it `name`.
[[nodiscard]] Result<LoadedConfig> load_mount_config_text(std::string_view text,
                                                          std::string_view name,
                                                          const Environment& environment,
                                                          std::span<const Override> overrides = {});

/// "bucket.name" and all its siblings, for "did you mean".
[[nodiscard]] std::vector<std::string> all_full_names();

}  // namespace s3rdmafs::config
