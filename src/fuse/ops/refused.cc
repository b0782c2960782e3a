// SPDX-License-Identifier: Apache-2.0
// Operations that objects do not have, by the errno that POSIX gives a file system without them:
// programs such as git then do without a link. libfuse would answer ENOSYS.
// Symbolic links are in ops/symlink.cc.
#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void link(fuse_req_t request, fuse_ino_t, fuse_ino_t new_parent, const char*) noexcept {
  const bool is_writable = context_of(request).file_system_of(new_parent).is_writable();
  Reply(request, Opcode::kOther).errno_value(is_writable ? EPERM : EROFS);
}

}  // namespace s3rdmafs::fuse::ops
