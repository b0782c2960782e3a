// SPDX-License-Identifier: Apache-2.0
// Operations that objects do not support, or not yet. libfuse would answer ENOSYS, which does not
// tell a user whether the mount or the bucket is the reason.
#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

void refuse(fuse_req_t request) {
  const bool is_writable = context_of(request).file_system.is_writable();
  Reply(request).errno_value(is_writable ? ENOTSUP : EROFS);
}

}  // namespace

void rename(fuse_req_t request, fuse_ino_t, const char*, fuse_ino_t, const char*,
            unsigned) noexcept {
  refuse(request);
}
void link(fuse_req_t request, fuse_ino_t, fuse_ino_t, const char*) noexcept { refuse(request); }
void symlink(fuse_req_t request, const char*, fuse_ino_t, const char*) noexcept { refuse(request); }
void mknod(fuse_req_t request, fuse_ino_t, const char*, mode_t, dev_t) noexcept { refuse(request); }

}  // namespace s3rdmafs::fuse::ops
