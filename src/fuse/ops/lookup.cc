// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <string_view>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {

fuse_entry_param entry_param(const MountContext& mount, const vfs::Entry& entry) {
  fuse_entry_param param{};
  param.ino = entry.attributes.ino;
  param.attr = mount.stat_of(entry.attributes);
  // User metadata is as old as the name.
  const bool is_metadata = mount.file_system_of(entry.attributes.ino).shows_posix() &&
                           !entry.attributes.is_directory && !entry.attributes.is_being_written;
  const auto valid_for = is_metadata
                             ? entry.valid_for
                             : std::min(entry.valid_for, mount.valid_time_of(entry.attributes));
  param.attr_timeout = seconds(valid_for);
  param.entry_timeout = seconds(entry.valid_for);
  return param;
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request, Opcode::kLookup);
  if (std::string_view(name).size() > kNameMax) {
    reply.errno_value(ENAMETOOLONG);
    return;
  }
  const Deadline deadline = reply.deadline();
  mount.file_system_of(parent).lookup(
      parent, name, deadline,
      [&mount, parent, reply = std::move(reply)](const Result<vfs::Entry>& found) mutable {
        fuse_entry_param entry{};
        if (found) {
          entry = entry_param(mount, *found);
        } else if (found.error().code == ErrorCode::kNotFound) {
          entry.entry_timeout = seconds(mount.negative_ttl_of(parent));  // ino 0: no such name
        } else {
          reply.error(found.error());
          return;
        }
        if (!reply.entry(entry) && entry.ino != 0)
          mount.file_system_of(entry.ino).forget(entry.ino, 1);
      });
}

}  // namespace s3rdmafs::fuse::ops
