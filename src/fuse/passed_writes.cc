// SPDX-License-Identifier: Apache-2.0
// FUSE passthrough of what programs write: the kernel writes the staging file, at the speed of
// memory, and the daemon hears of the open, of sizes that are asked for, and of the close.
//
// Only a file that begins empty at this open is passed through, by its only handle: the page cache
// of its inode is empty then, and stays so as long as the inode is passed through. Handles that
// come later get the same backing file, as the kernel demands.
//
// O_SYNC needs the daemon at each write, so a handle with it goes past the page cache to the
// daemon, which writes the same local file. It never begins a passthrough; nor does O_RDWR, since a
// program that maps a file leaves no trace of its writes there.
#include "fuse/passed_writes.h"

#include <fcntl.h>

namespace s3rdmafs::fuse {

bool may_pass_writes(const MountContext& mount, int open_flags) {
  return mount.passes_writes && (open_flags & O_ACCMODE) == O_WRONLY &&
         (open_flags & (O_SYNC | O_DSYNC)) == 0;
}

InodeIoModes::Written written_file(MountContext& mount, fuse_req_t request, fuse_ino_t ino) {
  return {.number = [&mount, ino] { return mount.file_system_of(ino).local_file_of(ino); },
          .close_backing = [request](int id) { fuse_passthrough_close(request, id); }};
}

void set_io_mode(MountContext& mount, fuse_req_t request, fuse_ino_t ino, const vfs::OpenFile& file,
                 bool passes, fuse_file_info& opened) {
  const InodeIoModes::Answer answer = mount.io_modes.mode_to_write(
      ino, passes ? file.local_fd : -1,
      [request](int fd) { return fuse_passthrough_open(request, fd); },
      written_file(mount, request, ino));
  opened.backing_id = answer.backing_id;
  // The kernel fails an open with both flags with EIO.
  opened.keep_cache = answer.mode != OpenMode::kPassthrough;
  const bool is_synchronous = (opened.flags & (O_SYNC | O_DSYNC)) != 0;
  opened.direct_io =
      answer.mode == OpenMode::kDirect || (answer.mode == OpenMode::kPassthrough && is_synchronous);
}

void release_io_mode(MountContext& mount, fuse_req_t request, fuse_ino_t ino) {
  const int backing_id = mount.io_modes.release(ino);
  if (backing_id > 0) fuse_passthrough_close(request, backing_id);
}

}  // namespace s3rdmafs::fuse
