// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info*) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request);
  const auto attributes = mount.file_system.attributes(ino);
  if (!attributes) {
    reply.error(attributes.error());
    return;
  }
  // One day: a version is immutable, and the next lookup finds a new version as a new inode. Only a
  // file that is being written grows.
  constexpr double kValidS = 86'400;
  reply.attributes(mount.stat_of(*attributes), attributes->is_being_written ? 0 : kValidS);
}

}  // namespace s3rdmafs::fuse::ops
