// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

// The continuation holds three words, which a Done keeps without an allocation. It does not reach
// the mount through the request: an interrupt may have answered and freed that.
//
// Direct reads name their lock owner, and reads that fill the page cache do not: fs/fuse/file.c in
// Linux sets FUSE_READ_LOCKOWNER for the former only.
void read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
          fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  mount.io_policy.on_read(ino, {.bytes = size, .fills_page_cache = file->lock_owner == 0});
  Reply reply = Reply::uninterruptible(request, Opcode::kRead, size);
  Reply::Waiting waiting = reply.waiting();
  const Deadline deadline = reply.deadline();
  mount.file_system_of(file->fh).read(file->fh, static_cast<std::uint64_t>(offset), size, deadline,
                                      [&mount, handle = file->fh, reply = std::move(reply)](
                                          const Result<cache::PinnedBytes>& bytes) mutable {
                                        if (!bytes) return reply.error(bytes.error());
                                        mount.read_bytes.add(bytes->size_bytes());
                                        mount.activity.read(handle, bytes->size_bytes());
                                        reply.data(*bytes);
                                      });
  waiting.begin();
}

}  // namespace s3rdmafs::fuse::ops
