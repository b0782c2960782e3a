// SPDX-License-Identifier: Apache-2.0
// chmod, chown, utimens and truncate. Where metadata.posix is "write" the first three are kept in
// the user metadata of a file. Elsewhere, and of a directory, they succeed and change nothing,
// since `cp -p`, `tar` and `rsync -a` set them on every file they write and fail if they may not.
// Sizes are real.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "fuse/ops/ops.h"
#include "fuse/passed_writes.h"
#include "fuse/process.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

void reply_attributes(const MountContext& mount, fuse_ino_t ino, Reply& reply) {
  const auto attributes = mount.file_system_of(ino).attributes(ino);
  if (!attributes) return reply.error(attributes.error());
  reply.attributes(mount.stat_of(*attributes), /*valid_s=*/0);
}

using Time = vfs::PosixAttributes::Time;

std::optional<Time> time_of(int to_set, int explicitly, int now, const timespec& wanted,
                            const Clock& clock) {
  if ((to_set & now) != 0) return clock.wall_now();
  if ((to_set & explicitly) == 0) return std::nullopt;
  // The year 2255 is what Time can hold.
  constexpr time_t kSecondsMax = 9'000'000'000;
  const time_t seconds = std::clamp(wanted.tv_sec, -kSecondsMax, kSecondsMax);
  return Time(std::chrono::seconds(seconds) + std::chrono::nanoseconds(wanted.tv_nsec));
}

/// A truncation sets its times by itself.
vfs::PosixAttributes attributes_to_set(const struct stat& wanted, int to_set, const Clock& clock) {
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) {
    if ((to_set & FUSE_SET_ATTR_MTIME_NOW) != 0) to_set &= ~FUSE_SET_ATTR_MTIME;
    if ((to_set & FUSE_SET_ATTR_ATIME_NOW) != 0) to_set &= ~FUSE_SET_ATTR_ATIME;
    to_set &= ~(FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_ATIME_NOW);
  }
  vfs::PosixAttributes set;
  if ((to_set & FUSE_SET_ATTR_MODE) != 0) set.mode = wanted.st_mode & 07777;
  if ((to_set & FUSE_SET_ATTR_UID) != 0) set.uid = wanted.st_uid;
  if ((to_set & FUSE_SET_ATTR_GID) != 0) set.gid = wanted.st_gid;
  set.modified =
      time_of(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted.st_mtim, clock);
  set.accessed =
      time_of(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted.st_atim, clock);
  return set;
}

void set_attributes(MountContext& mount, fuse_ino_t ino, const vfs::PosixAttributes& set,
                    Reply reply) {
  const bool has_any = set.mode || set.uid || set.gid || set.modified || set.accessed;
  if (!has_any) return reply_attributes(mount, ino, reply);
  const bool is_kept =
      mount.file_system_of(ino).keeps_posix();  // else the process is not asked for
  const vfs::ProcessId process = is_kept ? process_of(reply.request()) : 0;
  mount.file_system_of(ino).set_attributes(
      ino, set, process, mount.deadline(),
      [&mount, ino, reply = std::move(reply)](const Result<void>& done) mutable {
        if (!done && done.error().code == ErrorCode::kUnsupported) {
          return reply.errno_value(EOPNOTSUPP);  // the server copies no objects
        }
        if (!done) return reply.error(done.error());
        reply_attributes(mount, ino, reply);
      });
}

}  // namespace

void setattr(fuse_req_t request, fuse_ino_t ino, struct stat* wanted, int to_set,
             fuse_file_info*) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kSetattr);
  if (!mount.file_system_of(ino).is_writable()) {
    reply.errno_value(EROFS);
    return;
  }
  const vfs::PosixAttributes set = attributes_to_set(*wanted, to_set, mount.clock);
  if ((to_set & FUSE_SET_ATTR_SIZE) == 0) {
    return set_attributes(mount, ino, set, std::move(reply));
  }
  // Counted as a writer meanwhile; see open.cc.
  const bool is_staged = mount.file_system_of(ino).is_staged();
  const bool is_counted = is_staged && mount.io_modes.open_to_write(ino);
  mount.file_system_of(ino).truncate(ino, static_cast<std::uint64_t>(wanted->st_size),
                                     /*shares_inode=*/is_counted, mount.deadline(),
                                     [&mount, ino, is_counted, set, reply = std::move(reply)](
                                         const Result<void>& truncated) mutable {
                                       if (is_counted) release_io_mode(mount, reply.request(), ino);
                                       if (!truncated) {
                                         reply.error(truncated.error());
                                         return;
                                       }
                                       set_attributes(mount, ino, set, std::move(reply));
                                     });
}

}  // namespace s3rdmafs::fuse::ops
