// SPDX-License-Identifier: Apache-2.0
// FUSE operations, one file each. Each turns the kernel's request into a call of vfs::FileSystem
// and its result into the one reply. None blocks, and none knows the network. libfuse's
// fuse_lowlevel.h lists the valid replies to each operation.
#pragma once

#include <cstdint>

#include "fuse/lowlevel.h"
#include "fuse/mount_context.h"

namespace s3rdmafs::fuse::ops {

void init(void* context, fuse_conn_info* connection) noexcept;
void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept;
void forget(fuse_req_t request, fuse_ino_t ino, std::uint64_t count) noexcept;
void forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) noexcept;
void getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void opendir(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void readdir(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
             fuse_file_info* file) noexcept;
void readdirplus(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
                 fuse_file_info* file) noexcept;
void releasedir(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
          fuse_file_info* file) noexcept;
void release(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) noexcept;
void write(fuse_req_t request, fuse_ino_t ino, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info* file) noexcept;
void flush(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept;
void fsync(fuse_req_t request, fuse_ino_t ino, int data_only, fuse_file_info* file) noexcept;
void setattr(fuse_req_t request, fuse_ino_t ino, struct stat* wanted, int to_set,
             fuse_file_info* file) noexcept;
void fallocate(fuse_req_t request, fuse_ino_t ino, int mode, off_t offset, off_t length,
               fuse_file_info* file) noexcept;
void copy_file_range(fuse_req_t request, fuse_ino_t from_ino, off_t from_offset,
                     fuse_file_info* from, fuse_ino_t to_ino, off_t to_offset, fuse_file_info* to,
                     std::size_t length, int flags) noexcept;
void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept;
void mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) noexcept;
void rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept;
void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) noexcept;
void link(fuse_req_t request, fuse_ino_t ino, fuse_ino_t new_parent, const char* new_name) noexcept;
void symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) noexcept;
void readlink(fuse_req_t request, fuse_ino_t ino) noexcept;
void mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
           dev_t device) noexcept;
void setxattr(fuse_req_t request, fuse_ino_t ino, const char* name, const char* value,
              std::size_t size, int flags) noexcept;
void getxattr(fuse_req_t request, fuse_ino_t ino, const char* name, std::size_t size) noexcept;
void listxattr(fuse_req_t request, fuse_ino_t ino, std::size_t size) noexcept;
void removexattr(fuse_req_t request, fuse_ino_t ino, const char* name) noexcept;
void statfs(fuse_req_t request, fuse_ino_t ino) noexcept;
void access(fuse_req_t request, fuse_ino_t ino, int mask) noexcept;

/// The mount that a request is for.
[[nodiscard]] inline MountContext& context_of(fuse_req_t request) {
  return *static_cast<MountContext*>(fuse_req_userdata(request));
}

/// NAME_MAX of Linux; FUSE itself allows more.
inline constexpr std::size_t kNameMax = 255;

/// Of a file that the calling process makes; the kernel has applied its umask.
[[nodiscard]] vfs::PosixAttributes new_file_attributes(fuse_req_t request, mode_t mode);

/// Shows the handle in MountContext::activity; before the reply that gives it to the kernel.
void note_open(fuse_req_t request, fuse_ino_t ino, const fuse_file_info& opened);

/// The reply to a lookup, create or mkdir.
[[nodiscard]] fuse_entry_param entry_param(const MountContext& mount, const vfs::Entry& entry);

/// The table of these operations for fuse_session_new.
[[nodiscard]] fuse_lowlevel_ops table() noexcept;

}  // namespace s3rdmafs::fuse::ops
