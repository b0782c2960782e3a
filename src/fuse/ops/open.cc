// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/process.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {
namespace {

// Large files go past the kernel's page cache: they are read once and in big steps, and the second
// copy costs two and a half times the first. Small ones stay in it: their next reader pays nothing,
// and programs that read 4 KiB at a time do not ask us for each.
constexpr std::uint64_t kDirectIoFromBytes = 8 * kMiB;

// Written files go past the page cache: they are written once, and never read by this handle.
void open_to_write(MountContext& mount, fuse_ino_t ino, fuse_file_info opened, Reply& reply) {
  if (!mount.file_system.is_writable()) return reply.errno_value(EROFS);
  const bool truncate = (opened.flags & O_TRUNC) != 0;
  const auto result = mount.file_system.open_to_write(ino, truncate, process_of(reply.request()));
  if (!result) return reply.error(result.error());
  opened.fh = result->handle;
  opened.direct_io = 1;
  reply.open(opened);
}

}  // namespace

void open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request);
  if ((file->flags & O_ACCMODE) != O_RDONLY || (file->flags & (O_TRUNC | O_APPEND)) != 0) {
    open_to_write(mount, ino, *file, reply);
    return;
  }
  mount.file_system.open(ino, mount.deadline(),
                         [&mount, opened = *file,
                          reply = std::move(reply)](const Result<vfs::OpenFile>& result) mutable {
                           if (!result) {
                             reply.error(result.error());
                             return;
                           }
                           opened.fh = result->handle;
                           // What the page cache holds of this inode is of this very version.
                           opened.keep_cache = 1;
                           opened.noflush = 1;
                           opened.direct_io = mount.direct_io_allows_mmap &&
                                              result->size_bytes >= kDirectIoFromBytes;
                           reply.open(opened);
                         });
}

}  // namespace s3rdmafs::fuse::ops
