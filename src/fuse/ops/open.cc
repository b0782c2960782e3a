// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "fuse/ops/ops.h"
#include "fuse/passed_writes.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

void let_go(MountContext& mount, std::uint64_t handle) {
  mount.activity.released(handle);
  mount.file_system_of(handle).release(handle);
}

// The kernel itself reads objects that may be fetched whole; the cache decides which these are
// (cache/whole/object_cache.h). IoModePolicy decides how all others are read, and InodeIoModes
// keeps an inode from being read in two ways at once.

// Sequential mode. Writes go past the page cache: a file is written once, and its handle never
// reads.
void open_sequential(MountContext& mount, fuse_ino_t ino, fuse_file_info opened, Reply reply) {
  const vfs::OpenToWrite how{.truncates = (opened.flags & O_TRUNC) != 0};
  const vfs::ProcessId process = process_of(reply.request());
  mount.file_system_of(ino).open_to_write(
      ino, how, process, mount.deadline(),
      [&mount, ino, opened, reply = std::move(reply)](const Result<vfs::OpenFile>& result) mutable {
        if (!result) {
          reply.error(result.error());
          return;
        }
        opened.fh = result->handle;
        opened.direct_io = 1;
        const bool is_open = reply.open([&](fuse_req_t request) {
          note_open(request, ino, opened);
          return opened;
        });
        if (!is_open) let_go(mount, result->handle);
      });
}

// Staged mode. The inode is counted before the file system hears of the open, so that no reader
// makes the kernel pass it through meanwhile. Its pages are the file's, as only this mount changes
// it.
void open_staged(MountContext& mount, fuse_ino_t ino, fuse_file_info opened, Reply reply) {
  const bool counted = mount.io_modes.open_to_write(ino);
  const bool truncates = (opened.flags & O_TRUNC) != 0;
  const bool passes = truncates && counted && may_pass_writes(mount, opened.flags) &&
                      !mount.copy_guess.replaces_by_copy(fuse_req_ctx(reply.request())->pid, ino);
  const vfs::OpenToWrite how{.truncates = truncates,
                             .is_synchronous = (opened.flags & (O_SYNC | O_DSYNC)) != 0,
                             .shares_inode = counted,
                             .may_pass_through = passes,
                             .may_map = (opened.flags & O_ACCMODE) == O_RDWR};
  const vfs::ProcessId process = process_of(reply.request());
  mount.file_system_of(ino).open_to_write(
      ino, how, process, mount.deadline(),
      [&mount, ino, counted, passes, opened,
       reply = std::move(reply)](const Result<vfs::OpenFile>& result) mutable {
        if (!result) {
          if (counted) release_io_mode(mount, reply.request(), ino);
          return reply.error(result.error());
        }
        opened.fh = result->handle;
        const bool is_open = reply.open([&](fuse_req_t request) {
          if (counted) set_io_mode(mount, request, ino, *result, passes, opened);
          note_open(request, ino, opened);
          return opened;
        });
        if (is_open) return;
        let_go(mount, result->handle);
        // The mount has ended, and all backing ids with it.
        if (counted) std::ignore = mount.io_modes.release(ino);
      });
}

void open_to_write(MountContext& mount, fuse_ino_t ino, fuse_file_info opened, Reply reply) {
  if (!mount.file_system_of(ino).is_writable()) return reply.errno_value(EROFS);
  if (mount.file_system_of(ino).is_staged())
    return open_staged(mount, ino, opened, std::move(reply));
  open_sequential(mount, ino, opened, std::move(reply));
}

// The kernel then has the bytes before a program reads them. If it does not take them, it asks for
// them later. Returns how many it took.
std::size_t fill_page_cache(MountContext& mount, fuse_ino_t ino,
                            const cache::PinnedBytes& content) {
  std::size_t taken = 0;
  for (const auto piece : content.pieces()) {
    fuse_bufvec bytes{.count = 1, .idx = 0, .off = 0, .buf = {}};
    bytes.buf[0].size = piece.size();
    bytes.buf[0].mem = const_cast<std::byte*>(piece.data());
    const int stored = fuse_lowlevel_notify_store(mount.session, ino, static_cast<off_t>(taken),
                                                  &bytes, fuse_buf_copy_flags{});
    if (stored < 0) return taken;
    mount.read_bytes.add(piece.size());
    taken += piece.size();
  }
  return taken;
}

void reply_to_open(MountContext& mount, fuse_ino_t ino, const fuse_file_info& file, Reply& reply,
                   vfs::OpenFile result) {
  // Since the version was fetched, a writer may have opened the inode, stored it and closed it. One
  // that opens it later waits for the answer of InodeIoModes.
  const auto is_newer = [&] { return mount.file_system_of(ino).has_newer_bytes(ino); };
  bool is_counted = false;
  std::size_t taken_bytes = 0;
  const bool is_open = reply.open([&](fuse_req_t request) {
    is_counted = true;
    // Now, not when the request came: meanwhile the object may have been fetched whole.
    if (mount.passes_writes) mount.copy_guess.on_open_to_read(fuse_req_ctx(request)->pid, ino);
    const InodeIoModes::Answer answer = mount.io_modes.open(
        ino,
        [&] {
          return mount.io_policy.choose(ino, result.path, result.size_bytes,
                                        mount.direct_io_allows_mmap);
        },
        is_newer() ? nullptr : std::move(result.whole),
        [request](int fd) { return fuse_passthrough_open(request, fd); },
        [&] {
          if (!is_newer()) taken_bytes = fill_page_cache(mount, ino, result.content);
        },
        written_file(mount, request, ino));
    fuse_file_info opened = file;
    opened.fh = result.handle;
    // The pages that the page cache holds of this inode are of this very version. With passthrough
    // it holds none, and the kernel fails an open with this flag with EIO.
    opened.keep_cache = answer.mode != OpenMode::kPassthrough;
    opened.noflush = 1;
    opened.direct_io = answer.mode == OpenMode::kDirect;
    opened.backing_id = answer.backing_id;
    note_open(request, ino, opened);
    mount.activity.read(opened.fh, taken_bytes);
    return opened;
  });
  if (is_open) return;
  let_go(mount, result.handle);
  // The kernel takes no reply because the mount has ended, and all backing ids with it.
  if (is_counted) std::ignore = mount.io_modes.release(ino);
}

}  // namespace

void note_open(fuse_req_t request, fuse_ino_t ino, const fuse_file_info& opened) {
  const Activity::Way way = opened.backing_id > 0 ? Activity::Way::kByKernel
                            : opened.direct_io    ? Activity::Way::kDirect
                                                  : Activity::Way::kCached;
  MountContext& mount = context_of(request);
  const fuse_ctx& caller = *fuse_req_ctx(request);
  mount.activity.opened(opened.fh, ino, caller.pid, way);
  mount.access_log.add({.time = mount.clock.wall_now(),
                        .thread = caller.pid,
                        .uid = caller.uid,
                        .flags = opened.flags,
                        .path = mount.file_system_of(ino).path_of(ino)});
}

void open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  if ((file->flags & O_ACCMODE) != O_RDONLY || (file->flags & (O_TRUNC | O_APPEND)) != 0) {
    open_to_write(mount, ino, *file, Reply::uninterruptible(request, Opcode::kOpen));
    return;
  }
  auto answer = [&mount, ino, opened = *file,
                 reply = Reply(request, Opcode::kOpen)](Result<vfs::OpenFile> result) mutable {
    if (!result) return reply.error(result.error());
    reply_to_open(mount, ino, opened, reply, std::move(*result));
  };
  if (mount.passes_through && mount.io_modes.may_pass_through(ino)) {
    mount.file_system_of(ino).open_whole(ino, mount.deadline(), std::move(answer));
  } else {
    mount.file_system_of(ino).open(ino, mount.deadline(), std::move(answer));
  }
}

}  // namespace s3rdmafs::fuse::ops
