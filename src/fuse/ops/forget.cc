// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "fuse/ops/ops.h"

namespace s3rdmafs::fuse::ops {

void forget(fuse_req_t request, fuse_ino_t ino, std::uint64_t count) noexcept {
  context_of(request).file_system_of(ino).forget(ino, count);
  fuse_reply_none(request);
}

void forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) noexcept {
  MountContext& mount = context_of(request);
  for (const fuse_forget_data& each : std::span(forgets, count)) {
    mount.file_system_of(each.ino).forget(each.ino, each.nlookup);
  }
  fuse_reply_none(request);
}

}  // namespace s3rdmafs::fuse::ops
