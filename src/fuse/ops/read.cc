// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse::ops {

// The continuation holds two pointers, which a Done keeps without an allocation. Not the request's
// own way to the mount: an interrupt may have answered it.
//
// Direct reads name their lock owner and those that fill the page cache do not: fs/fuse/file.c
// gives FUSE_READ_LOCKOWNER to the one and not to the other, and to no other kind.
void read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
          fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  mount.io_policy.on_read(ino, {.bytes = size, .fills_page_cache = file->lock_owner == 0});
  Reply reply = Reply::uninterruptible(request);
  Reply::Waiting waiting = reply.waiting();
  mount.file_system.read(
      file->fh, static_cast<std::uint64_t>(offset), size, mount.deadline(),
      [&mount, reply = std::move(reply)](const Result<cache::PinnedBytes>& bytes) mutable {
        if (!bytes) {
          mount.errors.add();
          spdlog::debug("a read failed: {}", bytes.error().detail);
          reply.error(bytes.error());
          return;
        }
        mount.read_bytes.add(bytes->size_bytes());
        reply.data(*bytes);
      });
  waiting.begin();
}

}  // namespace s3rdmafs::fuse::ops
