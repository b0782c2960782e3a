// SPDX-License-Identifier: Apache-2.0
// Extended attributes: `user.` is kept in user metadata, `s3.` is read from the server. All others
// get EOPNOTSUPP without a request: ls(1) asks for two of them, and after this answer not again.
//
// The kernel would ask for `security.capability` before each write, had INIT not told it that a
// write takes the set-user-ID bit away here (FUSE_CAP_HANDLE_KILLPRIV_V2).
#include <sys/xattr.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/ops/ops.h"
#include "fuse/process.h"
#include "fuse/reply.h"
#include "s3rdmafs/client/attach_wire.h"

namespace s3rdmafs::fuse::ops {
namespace {

bool is_of_users(std::string_view name) { return name.starts_with("user."); }
bool is_of_server(std::string_view name) { return name.starts_with("s3."); }

/// @param room_bytes  what the program has room for; 0: it asks for the size
void give(Reply& reply, std::string_view bytes, std::size_t room_bytes) {
  if (room_bytes == 0) return reply.size(bytes.size());
  if (bytes.size() > room_bytes) return reply.errno_value(ERANGE);
  reply.bytes(bytes);
}

void change(fuse_req_t request, fuse_ino_t ino, vfs::ExtendedAttributeChange change) {
  MountContext& mount = context_of(request);
  Reply reply = Reply::uninterruptible(request, Opcode::kXattr);
  if (!mount.file_system_of(ino).is_writable()) return reply.errno_value(EROFS);
  if (is_of_server(change.name)) return reply.errno_value(EPERM);
  if (!is_of_users(change.name) || !mount.file_system_of(ino).keeps_posix()) {
    return reply.errno_value(EOPNOTSUPP);
  }
  mount.file_system_of(ino).change_extended_attribute(
      ino, std::move(change), process_of(request), mount.deadline(),
      [reply = std::move(reply)](const Result<void>& changed) mutable {
        if (changed) return reply.errno_value(0);
        // A directory, or a server that copies no objects.
        if (changed.error().code == ErrorCode::kUnsupported) return reply.errno_value(EOPNOTSUPP);
        reply.error(changed.error());
      });
}

}  // namespace

void setxattr(fuse_req_t request, fuse_ino_t ino, const char* name, const char* value,
              std::size_t size, int flags) noexcept {
  using When = vfs::ExtendedAttributeChange::When;
  const When when = (flags & XATTR_CREATE) != 0    ? When::kIsNew
                    : (flags & XATTR_REPLACE) != 0 ? When::kIsThere
                                                   : When::kAlways;
  change(request, ino, {.name = name, .value = std::string(value, size), .when = when});
}

void removexattr(fuse_req_t request, fuse_ino_t ino, const char* name) noexcept {
  change(request, ino, {.name = name});
}

void getxattr(fuse_req_t request, fuse_ino_t ino, const char* name, std::size_t size) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request, Opcode::kXattr);
  if (!is_of_users(name) && !is_of_server(name)) return reply.errno_value(EOPNOTSUPP);
  if (std::string_view(name) == attach::kSocketAttribute) {
    if (mount.attach_socket.empty()) return reply.errno_value(ENODATA);
    return give(reply, mount.attach_socket, size);
  }
  mount.file_system_of(ino).get_extended_attribute(
      ino, name, mount.deadline(),
      [size, reply = std::move(reply)](const Result<std::string>& value) mutable {
        if (!value) return reply.error(value.error());
        give(reply, *value, size);
      });
}

void listxattr(fuse_req_t request, fuse_ino_t ino, std::size_t size) noexcept {
  MountContext& mount = context_of(request);
  mount.file_system_of(ino).list_extended_attributes(
      ino, mount.deadline(),
      [size, reply = Reply(request, Opcode::kXattr)](
          const Result<std::vector<std::string>>& attributes) mutable {
        if (!attributes) return reply.error(attributes.error());
        std::string names;
        for (const std::string& name : *attributes) names += name + '\0';
        give(reply, names, size);
      });
}

}  // namespace s3rdmafs::fuse::ops
