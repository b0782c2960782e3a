// SPDX-License-Identifier: Apache-2.0
// copy_file_range(2), as of cp(1). The server makes copies of whole objects (vfs/staged/
// staged_copy.cc). After EOPNOTSUPP the kernel reads and writes the bytes, through this mount.
#include <algorithm>
#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

// As read(2) and write(2): the answer has 32 bits, and programs ask for the rest.
constexpr std::uint64_t kCopiedMax = 0x7fff'f000;

}  // namespace

void copy_file_range(fuse_req_t request, fuse_ino_t, off_t from_offset, fuse_file_info* from,
                     fuse_ino_t, off_t to_offset, fuse_file_info* to, std::size_t length,
                     int) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kCopyFileRange);
  if (!mount.any(&vfs::FileSystem::is_staged)) {
    return reply.errno_value(ENOSYS);  // the kernel asks no more
  }
  vfs::FileSystem& file_system = mount.file_system_of(to->fh);
  if (&file_system != &mount.file_system_of(from->fh)) return reply.errno_value(EXDEV);
  if (!file_system.is_staged()) return reply.errno_value(EOPNOTSUPP);
  file_system.copy({.from = from->fh,
                    .from_offset_bytes = static_cast<std::uint64_t>(from_offset),
                    .to = to->fh,
                    .to_offset_bytes = static_cast<std::uint64_t>(to_offset),
                    .length_bytes = length},
                   [reply = std::move(reply)](const Result<std::uint64_t>& copied) mutable {
                     if (copied) return reply.written(std::min(*copied, kCopiedMax));
                     if (copied.error().code == ErrorCode::kUnsupported) {
                       return reply.errno_value(EOPNOTSUPP);
                     }
                     reply.error(copied.error());
                   });
}

}  // namespace s3rdmafs::fuse::ops
