// SPDX-License-Identifier: Apache-2.0
// mknod of a regular file. Devices, fifos and sockets need more than bytes: EPERM, as POSIX has it.
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kMake);
  if (!mount.file_system_of(parent).is_writable()) return reply.errno_value(EROFS);
  const mode_t type = mode & S_IFMT;
  if (type != S_IFREG && type != 0) return reply.errno_value(EPERM);
  if (std::string_view(name).size() > kNameMax) return reply.errno_value(ENAMETOOLONG);
  mount.file_system_of(parent).make_file(
      parent, name, new_file_attributes(request, mode), mount.deadline(),
      [&mount, reply = std::move(reply)](const Result<vfs::Entry>& made) mutable {
        if (!made) return reply.error(made.error());
        if (!reply.entry(entry_param(mount, *made))) {
          mount.file_system_of(made->attributes.ino).forget(made->attributes.ino, 1);
        }
      });
}

}  // namespace s3rdmafs::fuse::ops
