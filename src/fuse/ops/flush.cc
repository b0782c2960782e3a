// SPDX-License-Identifier: Apache-2.0
// FLUSH (one for each close(2) of a descriptor) and FSYNC: the object becomes visible, or the
// program gets the reason.
//
// Processes share descriptors, and the kernel does not say which close is the last. A shell opens a
// file and gives it to its children, and each child's exit closes it; the first of these closes
// must not complete the object. So only a close by the process that opened the file completes it,
// or any close once that process has ended. A close before the first byte completes nothing either
// while that process has another descriptor of the file: a shell that moves a descriptor into place
// closes the first one, and the version that it is about to replace must not become empty. RELEASE
// completes what remains.
#include <cerrno>

#include "fuse/ops/ops.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

Done<void> answer_sync(Reply reply) {
  return [reply = std::move(reply)](const Result<void>& synced) mutable {
    if (!synced) return reply.error(synced.error());
    reply.errno_value(0);
  };
}

bool closes_for_all(fuse_req_t request, fuse_ino_t ino, vfs::ProcessId opener) {
  const vfs::ProcessId process = process_of(request);
  if (process != opener && process != 0 && is_running(opener)) return false;
  const auto attributes = context_of(request).file_system_of(ino).attributes(ino);
  const bool is_empty = attributes && attributes->size_bytes == 0;
  return !is_empty || !has_descriptor(process, ino);
}

}  // namespace

void flush(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  Reply reply = Reply::uninterruptible(request, Opcode::kFlush);
  const auto opener = context_of(request).file_system_of(file->fh).opener(file->fh);
  if (!opener || !closes_for_all(request, ino, *opener)) {
    reply.errno_value(0);
    return;
  }
  MountContext& mount = context_of(request);
  mount.file_system_of(file->fh).sync(file->fh, answer_sync(std::move(reply)));
}

void fsync(fuse_req_t request, fuse_ino_t ino, int, fuse_file_info* file) noexcept {
  Reply reply = Reply::uninterruptible(request, Opcode::kFsync);
  MountContext& mount = context_of(request);
  if (mount.file_system_of(file->fh).opener(file->fh)) {
    return mount.file_system_of(file->fh).sync(file->fh, answer_sync(std::move(reply)));
  }
  // A descriptor that only reads: fsync(2) concerns all that was written to the file.
  mount.file_system_of(ino).sync_inode(ino, answer_sync(std::move(reply)));
}

}  // namespace s3rdmafs::fuse::ops
