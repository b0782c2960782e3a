// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The `-o` options of a mount, taken apart.
struct MountOptions {
  /// For the kernel, in the order given: "noatime", "noexec", ... as libfuse's -o takes them.
  std::vector<std::string> kernel_options;
  /// Mount-file keys: section.key=value, uid=, gid=, allow_other.
  std::vector<Override> overrides;
};

/// Options to ignore, which depends on their writer: the user, or fstab for mount(8).
struct OptionRules {
  bool ignore_unknown = false;  ///< mount(8) -s
  /// mount(8) puts "rw" in front of the options it hands to a helper unless "ro" is among them, so
  /// there it says nothing about what the user wants.
  bool ignore_rw = false;
};

/// Splits a list as fstab(5) writes it: by commas, but not inside double quotes (mount(8)), which
/// are dropped. Empty items are dropped. Errors: kInvalidArgument where a quote is not closed.
[[nodiscard]] Result<std::vector<std::string>> split_options(std::string_view list);

/// Reads the option lists of one mount, in order.
/// Errors: kInvalidArgument, naming the option. The values of overrides are checked by
///         load_mount_config, with the same messages as the mount file's.
[[nodiscard]] Result<MountOptions> parse_mount_options(std::span<const std::string> lists,
                                                       const OptionRules& rules);

}  // namespace s3rdmafs::config
