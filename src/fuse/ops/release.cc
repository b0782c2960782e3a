// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/passed_writes.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void release(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kRelease);
  // First, so that an open meanwhile finds the inode passed through only to the file that it is.
  release_io_mode(mount, request, ino);
  mount.activity.released(file->fh);
  mount.file_system_of(file->fh).release(file->fh);
  reply.errno_value(0);
}

}  // namespace s3rdmafs::fuse::ops
