// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

// Files have the mount's mode; the mode that the program asks for is ignored.
void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t,
            fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  const vfs::Creation how{.is_exclusive = (file->flags & O_EXCL) != 0,
                          .truncates = (file->flags & O_TRUNC) != 0,
                          .writes = (file->flags & O_ACCMODE) != O_RDONLY};
  const vfs::ProcessId process = process_of(request);
  mount.file_system.create(parent, name, how, process, mount.deadline(),
                           [&mount, opened = *file, reply = std::move(reply)](
                               const Result<vfs::CreatedFile>& created) mutable {
                             if (!created) {
                               reply.error(created.error());
                               return;
                             }
                             opened.fh = created->file.handle;
                             opened.direct_io = 1;  // as in open.cc
                             reply.create(entry_param(mount, created->entry), opened);
                           });
}

}  // namespace s3rdmafs::fuse::ops
