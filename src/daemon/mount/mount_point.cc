// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/mount_point.h"

#include <mntent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "daemon/mount/process/unmount.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

// "TYPE from SOURCE" of the topmost file system mounted on exactly this path; empty for none.
std::string file_system_on(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> table(::setmntent("/proc/self/mounts", "re"),
                                                    ::endmntent);
  std::string found;
  if (!table) return found;
  mntent entry{};
  char buffer[16'384];  // a line of the table: paths and overlay options can be long
  while (::getmntent_r(table.get(), &entry, buffer, sizeof(buffer)) != nullptr) {
    if (path == entry.mnt_dir) found = std::string(entry.mnt_type) + " from " + entry.mnt_fsname;
  }
  return found;
}

// statfs(2) and not stat(2), whose answer the kernel may remember from before the death.
// ECONNABORTED: the kernel was just closing the connection.
bool is_dead_mount_of_ours(const std::string& path) {
  struct statfs status{};
  return file_system_on(path).starts_with("fuse.s3rdma ") && ::statfs(path.c_str(), &status) != 0 &&
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
  const std::string mounted = file_system_on(*resolved);
  if (mounted.starts_with("fuse")) {
    return fail(ErrorCode::kExists, "mount point " + path + " is busy: " + mounted +
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
    spdlog::warn("mount point {}: the daemon of its last mount died; that mount was taken away",
                 path);
  }
  return {};
}

}  // namespace s3rdmafs::daemon
