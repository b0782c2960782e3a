// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kMake);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  mount.file_system_of(parent).make_directory(
      parent, name, mount.deadline(),
      [&mount, reply = std::move(reply)](const Result<vfs::Entry>& made) mutable {
        if (!made) {
          reply.error(made.error());
          return;
        }
        reply.entry(entry_param(mount, *made));
      });
}

}  // namespace s3rdmafs::fuse::ops
