// SPDX-License-Identifier: Apache-2.0
// symlink and readlink. Links are kept where metadata.posix is "write", and followed where it is
// "read" too; elsewhere EPERM, as POSIX has it for a file system without them.
#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse::ops {

void symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kMake);
  if (!mount.file_system_of(parent).is_writable()) return reply.errno_value(EROFS);
  if (!mount.file_system_of(parent).keeps_posix()) {
    if (!mount.has_refused_links.exchange(true)) {
      log::warn("fuse: symlink refused: it needs metadata.posix = \"write\"; said once");
    }
    return reply.errno_value(EPERM);
  }
  if (std::string_view(name).size() > kNameMax) return reply.errno_value(ENAMETOOLONG);
  mount.file_system_of(parent).make_symlink(
      parent, name, target, new_file_attributes(request, 0777), mount.deadline(),
      [&mount, reply = std::move(reply)](const Result<vfs::Entry>& made) mutable {
        if (!made) return reply.error(made.error());
        if (!reply.entry(entry_param(mount, *made))) {
          mount.file_system_of(made->attributes.ino).forget(made->attributes.ino, 1);
        }
      });
}

void readlink(fuse_req_t request, fuse_ino_t ino) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system_of(ino).read_link(
      ino, mount.deadline(),
      [reply = Reply(request, Opcode::kReadlink)](const Result<std::string>& target) mutable {
        if (!target) return reply.error(target.error());
        reply.link(*target);
      });
}

}  // namespace s3rdmafs::fuse::ops
