// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void release(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system.release(file->fh);
  const int backing_id = mount.io_modes.release(ino);
  if (backing_id > 0) fuse_passthrough_close(request, backing_id);
  Reply(request).errno_value(0);
}

}  // namespace s3rdmafs::fuse::ops
