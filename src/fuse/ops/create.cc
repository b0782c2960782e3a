// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <string_view>
#include <tuple>

#include "fuse/ops/ops.h"
#include "fuse/passed_writes.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

namespace {

// The kernel asks for the attributes of a new file twice before the first write, to check its mode
// and for fstat(2). Until then this answer holds: a write, a truncation and chmod(2) go through the
// kernel, which then asks again. Shortly, since a store may give the file another time.
constexpr double kNewFileSeconds = 1;

// As in open.cc. The inode is new, so no reader has it passed through.
void set_mode(MountContext& mount, const vfs::CreatedFile& created, fuse_req_t request, bool passes,
              fuse_file_info& opened) {
  if (!mount.file_system_of(created.file.handle).is_staged()) {
    opened.direct_io = 1;
    return;
  }
  const fuse_ino_t ino = created.entry.attributes.ino;
  std::ignore = mount.io_modes.open_to_write(ino);
  set_io_mode(mount, request, ino, created.file, passes, opened);
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
  Reply reply = Reply::uninterruptible(request, Opcode::kCreate);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  const bool passes = may_pass_writes(mount, file->flags) &&
                      !mount.copy_guess.creates_copy(fuse_req_ctx(request)->pid, file->flags);
  const vfs::Creation how{.is_exclusive = (file->flags & O_EXCL) != 0,
                          .truncates = (file->flags & O_TRUNC) != 0,
                          .writes = (file->flags & O_ACCMODE) != O_RDONLY,
                          .is_synchronous = (file->flags & (O_SYNC | O_DSYNC)) != 0,
                          .posix = new_file_attributes(request, mode),
                          .may_pass_through = passes};
  const vfs::ProcessId process = process_of(request);
  mount.file_system_of(parent).create(
      parent, name, how, process, mount.deadline(),
      [&mount, passes, opened = *file,
       reply = std::move(reply)](const Result<vfs::CreatedFile>& created) mutable {
        if (!created) {
          reply.error(created.error());
          return;
        }
        opened.fh = created->file.handle;
        set_mode(mount, *created, reply.request(), passes, opened);
        note_open(reply.request(), created->entry.attributes.ino, opened);
        fuse_entry_param entry = entry_param(mount, created->entry);
        entry.attr_timeout = kNewFileSeconds;
        reply.create(entry, opened);
      });
}

}  // namespace s3rdmafs::fuse::ops
