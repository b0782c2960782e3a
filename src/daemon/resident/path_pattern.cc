// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/path_pattern.h"

#include <fnmatch.h>

#include <filesystem>

namespace s3rdmafs::daemon {
namespace {

bool is_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Symbolic links may lead into the mount, but there are none in it.
std::filesystem::path resolve(const std::filesystem::path& path) {
  std::error_code failed;
  auto resolved = std::filesystem::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : resolved;
}

}  // namespace

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?[\\") != std::string_view::npos;
}

std::vector<std::string> components_of(std::string_view pattern) {
  std::vector<std::string> components;
  while (!pattern.empty()) {
    const std::size_t end = pattern.find('/');
    if (end != 0) components.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(end == std::string_view::npos ? pattern.size() : end + 1);
  }
  return components;
}

bool matches(const std::string& component, const std::string& name) {
  return component == name || ::fnmatch(component.c_str(), name.c_str(), 0) == 0;
}

bool covers(std::string_view pattern, std::string_view path) {
  const std::vector<std::string> wanted = components_of(pattern);
  const std::vector<std::string> found = components_of(path);
  if (wanted.size() > found.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!matches(wanted[i], found[i])) return false;
  }
  return true;
}

Result<std::string> path_in_mount(const std::string& mount_point, const std::string& argument,
                                  const std::string& current_directory) {
  for (const std::string& from : {current_directory, mount_point}) {
    // An absolute argument stays what it is.
    const std::filesystem::path path = resolve(std::filesystem::path(from) / argument);
    if (!is_in(path, mount_point)) continue;
    std::string relative = path.lexically_relative(mount_point).string();
    while (relative.ends_with('/')) relative.pop_back();
    return relative == "." ? std::string() : relative;
  }
  return fail(ErrorCode::kInvalidArgument, argument + " is not below " + mount_point);
}

}  // namespace s3rdmafs::daemon
