// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuse/inode_io_mode.h"
#include "fuse/lowlevel.h"
#include "fuse/mount_context.h"
#include "vfs/files/open_file.h"

namespace s3rdmafs::fuse {

// How the kernel comes to write a staged file by itself (passed_writes.cc says when).

/// Whether the kernel may write a file that is opened with these flags and begins empty.
[[nodiscard]] bool may_pass_writes(const MountContext& mount, int open_flags);

/// For InodeIoModes, while this request is open.
[[nodiscard]] InodeIoModes::Written written_file(MountContext& mount, fuse_req_t request,
                                                 fuse_ino_t ino);

/// Sets how the kernel reads and writes the handle of a staged file, which InodeIoModes has
/// counted. Before the reply to the open.
/// @param passes   may_pass_writes() of this open
void set_io_mode(MountContext& mount, fuse_req_t request, fuse_ino_t ino, const vfs::OpenFile& file,
                 bool passes, fuse_file_info& opened);

/// Counts one handle less, and tells the kernel where it was the last of a file passed through.
/// Before the reply to the request.
void release_io_mode(MountContext& mount, fuse_req_t request, fuse_ino_t ino);

}  // namespace s3rdmafs::fuse
