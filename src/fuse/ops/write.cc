// SPDX-License-Identifier: Apache-2.0
// The bytes are copied into a part buffer before this returns, so that libfuse can reuse the
// worker's buffer. The reply may come before that, so that a program makes its next write
// meanwhile. Over io_uring a reply gives the kernel the buffer back, so there the bytes are copied
// first. If the part buffers have no room, the bytes are copied aside and the reply waits.
#include <span>
#include <utility>
#include <vector>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void write(fuse_req_t request, fuse_ino_t, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  auto content = std::as_bytes(std::span(bytes, size));
  std::vector<std::byte> own;
  if (mount.over_ring) {
    own.assign(content.begin(), content.end());
    content = own;
  }
  Reply reply = Reply::uninterruptible(request, Opcode::kWrite, size);
  const Deadline deadline = reply.deadline();
  mount.file_system_of(file->fh).write(
      file->fh, static_cast<std::uint64_t>(offset), content, deadline,
      [&mount, size, handle = file->fh,
       reply = std::move(reply)](const Result<void>& written) mutable {
        if (!written) return reply.error(written.error());
        mount.written_bytes.add(size);
        mount.activity.wrote(handle, size);
        reply.written(size);
      });
}

}  // namespace s3rdmafs::fuse::ops
