// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  constexpr std::size_t kNameMax = 255;  // NAME_MAX of Linux
  MountContext& mount = context_of(request);
  Reply reply(request);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  mount.file_system.lookup(
      parent, name, mount.deadline(),
      [&mount, reply = std::move(reply)](const Result<vfs::Entry>& found) mutable {
        fuse_entry_param entry{};
        if (found) {
          entry.ino = found->attributes.ino;
          entry.attr = mount.stat_of(found->attributes);
          // The attributes of an inode never change: it is one version of one object.
          entry.attr_timeout = seconds(found->valid_for);
          entry.entry_timeout = seconds(found->valid_for);
        } else if (found.error().code == ErrorCode::kNotFound) {
          entry.entry_timeout = seconds(mount.look.negative_ttl);  // ino 0: no such name
        } else {
          reply.error(found.error());
          return;
        }
        reply.entry(entry);
      });
}

}  // namespace s3rdmafs::fuse::ops
