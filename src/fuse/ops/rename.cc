// SPDX-License-Identifier: Apache-2.0
// rename, renameat and renameat2. Two names cannot be exchanged, as no server can do that at once;
// the kernel's whiteouts belong to overlay file systems.
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kRename);
  vfs::FileSystem& file_system = mount.file_system_of(parent);
  if (!file_system.is_writable()) return reply.errno_value(EROFS);
  // Between buckets, mv(1) then copies.
  if (&file_system != &mount.file_system_of(new_parent)) return reply.errno_value(EXDEV);
  if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) return reply.errno_value(EINVAL);
  if (std::string_view(new_name).size() > kNameMax) return reply.errno_value(ENAMETOOLONG);
  file_system.rename(parent, name, new_parent, new_name, (flags & RENAME_NOREPLACE) != 0,
                     [reply = std::move(reply)](const Result<void>& renamed) mutable {
                       if (renamed) {
                         reply.errno_value(0);
                       } else {
                         reply.error(renamed.error());
                       }
                     });
}

}  // namespace s3rdmafs::fuse::ops
