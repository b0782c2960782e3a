// SPDX-License-Identifier: Apache-2.0
// fallocate(2). Room at the server cannot be reserved, so a request that only reserves is refused;
// one that extends the file is a truncation. Holes are zeros that take no room in the staging area.
#include <fcntl.h>
#include <linux/falloc.h>

#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void fallocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
               fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kOther);
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const bool zeroes = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
  constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  if ((mode & ~kKnown) != 0 || (keeps_size && !zeroes)) {
    reply.errno_value(EOPNOTSUPP);
    return;
  }
  mount.file_system_of(file->fh).allocate(
      file->fh,
      {.offset_bytes = static_cast<std::uint64_t>(offset),
       .length_bytes = static_cast<std::uint64_t>(length),
       .zeroes = zeroes,
       .extends = !keeps_size},
      [reply = std::move(reply)](const Result<void>& allocated) mutable {
        if (!allocated) return reply.error(allocated.error());
        reply.errno_value(0);
      });
}

}  // namespace s3rdmafs::fuse::ops
