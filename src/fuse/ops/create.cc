// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

namespace {

// The kernel asks for the attributes of a new file twice before the first write, to check its mode
// and for fstat(2). Until then this answer holds: a write, a truncation and chmod(2) go through the
// kernel, which then asks again. Shortly, since a store may give the file another time.
constexpr double kNewFileSeconds = 1;

// As in open.cc. The inode is new, so the kernel does not pass it through.
void set_io_mode(MountContext& mount, vfs::Ino ino, fuse_file_info& opened) {
  if (!mount.file_system.is_staged()) {
    opened.direct_io = 1;
    return;
  }
  opened.direct_io = mount.io_modes.open_to_write(ino) != OpenMode::kCached;
  opened.keep_cache = 1;
}

}  // namespace

vfs::PosixAttributes new_file_attributes(fuse_req_t request, mode_t mode) {
  const fuse_ctx& caller = *fuse_req_ctx(request);
  return {.mode = mode & 07777, .uid = caller.uid, .gid = caller.gid};
}

// Files have the mount's mode, unless the mount keeps that which the program asks for.
void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  const vfs::Creation how{.is_exclusive = (file->flags & O_EXCL) != 0,
                          .truncates = (file->flags & O_TRUNC) != 0,
                          .writes = (file->flags & O_ACCMODE) != O_RDONLY,
                          .is_synchronous = (file->flags & (O_SYNC | O_DSYNC)) != 0,
                          .posix = new_file_attributes(request, mode)};
  const vfs::ProcessId process = process_of(request);
  mount.file_system.create(parent, name, how, process, mount.deadline(),
                           [&mount, opened = *file, reply = std::move(reply)](
                               const Result<vfs::CreatedFile>& created) mutable {
                             if (!created) {
                               reply.error(created.error());
                               return;
                             }
                             opened.fh = created->file.handle;
                             set_io_mode(mount, created->entry.attributes.ino, opened);
                             fuse_entry_param entry = entry_param(mount, created->entry);
                             entry.attr_timeout = kNewFileSeconds;
                             reply.create(entry, opened);
                           });
}

}  // namespace s3rdmafs::fuse::ops
