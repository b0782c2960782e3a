// SPDX-License-Identifier: Apache-2.0
// chmod, chown, utimens and truncate. An object has no owner, mode or time that a user could set:
// setting them succeeds and changes nothing, since `cp -p`, `tar` and `rsync -a` set them on every
// file they write and fail if they may not. Sizes are real.
#include <cerrno>
#include <optional>
#include <tuple>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

void reply_attributes(const MountContext& mount, fuse_ino_t ino, Reply& reply) {
  const auto attributes = mount.file_system.attributes(ino);
  if (!attributes) return reply.error(attributes.error());
  reply.attributes(mount.stat_of(*attributes), /*valid_s=*/0);
}

}  // namespace

void setattr(fuse_req_t request, fuse_ino_t ino, struct stat* wanted, int to_set,
             fuse_file_info*) noexcept {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request);
  if (!mount.file_system.is_writable()) {
    reply.errno_value(EROFS);
    return;
  }
  if ((to_set & FUSE_SET_ATTR_SIZE) == 0) {
    reply_attributes(mount, ino, reply);
    return;
  }
  // Counted as a writer meanwhile; see open.cc.
  const bool is_staged = mount.file_system.is_staged();
  const auto mode = is_staged ? mount.io_modes.open_to_write(ino) : std::nullopt;
  mount.file_system.truncate(
      ino, static_cast<std::uint64_t>(wanted->st_size), /*shares_inode=*/mode.has_value(),
      mount.deadline(),
      [&mount, ino, mode, reply = std::move(reply)](const Result<void>& truncated) mutable {
        if (mode) std::ignore = mount.io_modes.release(ino);
        if (!truncated) {
          reply.error(truncated.error());
          return;
        }
        reply_attributes(mount, ino, reply);
      });
}

}  // namespace s3rdmafs::fuse::ops
