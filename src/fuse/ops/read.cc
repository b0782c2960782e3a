// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse::ops {

void read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
          fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system.read(file->fh, static_cast<std::uint64_t>(offset), size, mount.deadline(),
                         [&mount, ino, offset,
                          reply = Reply(request)](const Result<cache::PinnedBytes>& bytes) mutable {
                           if (!bytes) {
                             mount.errors.add();
                             spdlog::debug("read of inode {:x} at {}: {}", ino, offset,
                                           bytes.error().detail);
                             reply.error(bytes.error());
                             return;
                           }
                           mount.read_bytes.add(bytes->size_bytes());
                           reply.data(*bytes);
                         });
}

}  // namespace s3rdmafs::fuse::ops
