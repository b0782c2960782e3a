// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info*) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request, Opcode::kGetattr);
  const auto attributes = mount.file_system_of(ino).attributes(ino);
  if (!attributes) {
    reply.error(attributes.error());
    return;
  }
  reply.attributes(mount.stat_of(*attributes), seconds(mount.valid_time_of(*attributes)));
}

}  // namespace s3rdmafs::fuse::ops
