// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/mount_point.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "daemon/mount/process/unmount.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mount_table.h"

namespace s3rdmafs::daemon {
namespace {

// Without /proc nothing is known of other mounts; the mount itself then says that it is missing.
std::optional<MountEntry> known_mount_on(const std::string& path) {
  return mount_on(path).value_or(std::nullopt);
}

// statfs(2) and not stat(2), whose answer the kernel may remember from before the death.
// ECONNABORTED: the kernel was just closing the connection.
bool is_dead_mount_of_ours(const std::string& path) {
  const auto mounted = known_mount_on(path);
  struct statfs status{};
  return mounted && is_ours(*mounted) && ::statfs(path.c_str(), &status) != 0 &&
         (errno == ENOTCONN || errno == ECONNABORTED);
}

std::unexpected<Error> fail_dead_mount(const std::string& path) {
  return fail(ErrorCode::kSystem,
              "mount point " + path + ": the daemon of its FUSE mount died; unmount it first");
}

}  // namespace

Result<std::string> resolve_mount_point(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  if (resolved) return std::string(resolved.get());
  switch (errno) {
    case ENOENT:
      return fail(ErrorCode::kNotFound,
                  "mount point " + path + " does not exist: create it (mkdir -p)");
    case ENOTDIR:
      return fail(ErrorCode::kNotDirectory,
                  "mount point " + path + ": a component of the path is not a directory");
    case ENOTCONN:
      return fail_dead_mount(path);
    default:
      return fail_errno("mount point " + path, errno);
  }
}

Result<std::string> check_mount_point(const std::string& path) {
  auto resolved = resolve_mount_point(path);
  if (!resolved || is_dead_mount_of_ours(*resolved)) return resolved;
  struct stat status{};
  const bool found = ::stat(resolved->c_str(), &status) == 0;
  if (!found && errno == ENOTCONN) return fail_dead_mount(path);
  if (!found) return fail_errno("mount point " + path, errno);
  const auto mounted = known_mount_on(*resolved);
  if (mounted && mounted->type.starts_with("fuse")) {
    return fail(ErrorCode::kExists, "mount point " + path + " is busy: " + mounted->type +
                                        " from " + mounted->source +
                                        " is mounted there; unmount it first");
  }
  if (!S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kNotDirectory, "mount point " + path + " is not a directory");
  }
  return resolved;
}

Result<void> free_mount_point(const std::string& path) {
  while (is_dead_mount_of_ours(path)) {
    if (auto freed = unmount(path, true); !freed) return freed;
    log::warn("mount point {}: the daemon of its last mount died; that mount was taken away", path);
  }
  return {};
}

}  // namespace s3rdmafs::daemon
