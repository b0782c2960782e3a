// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* file) noexcept {
  context_of(request).file_system.release(file->fh);
  Reply(request).errno_value(0);
}

}  // namespace s3rdmafs::fuse::ops
