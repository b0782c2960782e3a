// SPDX-License-Identifier: Apache-2.0
// The kernel asks only a mount without default_permissions; with it, it checks the mode bits
// itself.
#include <unistd.h>

#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void access(fuse_req_t request, fuse_ino_t ino, int mask) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request, Opcode::kOther);
  if (const auto attributes = mount.file_system_of(ino).attributes(ino); !attributes) {
    reply.error(attributes.error());
  } else {
    reply.errno_value((mask & W_OK) != 0 && !mount.file_system_of(ino).is_writable() ? EROFS : 0);
  }
}

}  // namespace s3rdmafs::fuse::ops
