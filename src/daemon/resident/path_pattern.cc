// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/path_pattern.h"

#include <filesystem>

namespace s3rdmafs::daemon {
namespace {

bool is_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Symbolic links may lead into the mount; the mount itself has none.
std::filesystem::path resolve(const std::filesystem::path& path) {
  std::error_code failed;
  auto resolved = std::filesystem::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : resolved;
}

}  // namespace

Result<std::string> path_in_mount(const std::string& mount_point, const std::string& argument,
                                  const std::string& current_directory) {
  for (const std::string& from : {current_directory, mount_point}) {
    // An absolute argument replaces `from`.
    const std::filesystem::path path = resolve(std::filesystem::path(from) / argument);
    if (!is_in(path, mount_point)) continue;
    std::string relative = path.lexically_relative(mount_point).string();
    while (relative.ends_with('/')) relative.pop_back();
    return relative == "." ? std::string() : relative;
  }
  return fail(ErrorCode::kInvalidArgument, argument + " is not below " + mount_point);
}

}  // namespace s3rdmafs::daemon
