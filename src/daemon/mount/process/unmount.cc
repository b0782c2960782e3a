// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/unmount.h"

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace s3rdmafs::daemon {
namespace {

// Users other than root may unmount their mounts only through fusermount3.
Result<void> unmount_by_helper(const std::string& mount_point, bool lazy) {
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork", errno);
  if (child == 0) {
    const char* option = lazy ? "-uz" : "-u";
    ::execlp("fusermount3", "fusermount3", option, mount_point.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  return fail(ErrorCode::kSystem, "fusermount3 did not unmount " + mount_point);
}

}  // namespace

Result<void> unmount(const std::string& mount_point, bool lazy) {
  if (::geteuid() != 0) return unmount_by_helper(mount_point, lazy);
  if (::umount2(mount_point.c_str(), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) return {};
  const std::string problem = "unmounting " + mount_point;
  switch (errno) {
    case EBUSY:
      return fail(ErrorCode::kSystem, problem + ": it is in use; end its users (fuser -vm " +
                                          mount_point + " lists them), or use --lazy");
    case EINVAL:
      return fail(ErrorCode::kInvalidArgument, problem + ": nothing is mounted there");
    default:
      return fail_errno(problem, errno);
  }
}

}  // namespace s3rdmafs::daemon
