// SPDX-License-Identifier: Apache-2.0
// unlink and rmdir.
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

Done<void> answer(fuse_req_t request) {
  return [reply = Reply::uninterruptible(request, Opcode::kRemove)](
             const Result<void>& removed) mutable {
    if (removed) {
      reply.errno_value(0);
    } else {
      reply.error(removed.error());
    }
  };
}

}  // namespace

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system_of(parent).unlink(parent, name, mount.deadline(), answer(request));
}

void rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system_of(parent).remove_directory(parent, name, mount.deadline(), answer(request));
}

}  // namespace s3rdmafs::fuse::ops
