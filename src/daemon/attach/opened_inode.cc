// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/opened_inode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace s3rdmafs::daemon {

Result<std::uint64_t> opened_inode(int descriptor, dev_t device) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  // O_PATH: the kernel has not checked that the file may be read.
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) {
    return fail(ErrorCode::kInvalidArgument, "the descriptor is not open for reading");
  }
  struct statx found{};
  // AT_STATX_DONT_SYNC: from what the kernel has, without a request.
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &found) !=
      0) {
    return fail(ErrorCode::kInvalidArgument, "the descriptor is of no file");
  }
  if (!S_ISREG(found.stx_mode) || ::makedev(found.stx_dev_major, found.stx_dev_minor) != device) {
    return fail(ErrorCode::kInvalidArgument, "the descriptor is of no file of this mount");
  }
  return found.stx_ino;
}

}  // namespace s3rdmafs::daemon
