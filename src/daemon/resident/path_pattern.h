// SPDX-License-Identifier: Apache-2.0
// Patterns for paths in a mount, relative to its root and without "/" at either end. Of glob(7):
// "*", "?" and "[...]" stand for characters other than "/"; a backslash takes the meaning away from
// the next character. All functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

[[nodiscard]] bool has_wildcard(std::string_view pattern);

/// "a/*/c" -> "a", "*", "c"; none for the root.
[[nodiscard]] std::vector<std::string> components_of(std::string_view pattern);

/// Whether a component of a pattern stands for this name.
[[nodiscard]] bool matches(const std::string& component, const std::string& name);

/// Whether the pattern stands for `path` or for a directory above it. An empty one does for all.
[[nodiscard]] bool covers(std::string_view pattern, std::string_view path);

/// Where in the mount a path or pattern of the command line points.
/// @param mount_point  resolved
/// @param argument     absolute, or from the current directory, or, where that would lead
/// elsewhere,
///                     from the mount point
/// Errors: kInvalidArgument: it is not in the mount.
[[nodiscard]] Result<std::string> path_in_mount(const std::string& mount_point,
                                                const std::string& argument,
                                                const std::string& current_directory);

}  // namespace s3rdmafs::daemon
