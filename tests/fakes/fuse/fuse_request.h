// SPDX-License-Identifier: Apache-2.0
// Requests as the kernel words them: one function for each operation.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/fuse/protocol.h"

namespace s3rdmafs::fakes {

struct FuseRequest {
  std::uint32_t opcode = 0;
  std::uint64_t node = 0;
  std::string body = {};
  std::uint32_t pid = static_cast<std::uint32_t>(::getpid());  ///< 0: of another PID name space
};

struct FuseReply {
  int error = 0;  ///< an errno; 0: success
  std::string body = {};

  /// The structure at `offset` of the body; zeros for what the body lacks.
  template <class T>
  [[nodiscard]] T as(std::size_t offset = 0) const {
    T value{};
    if (offset < body.size()) {
      std::memcpy(&value, body.data() + offset, std::min(sizeof(T), body.size() - offset));
    }
    return value;
  }
};

/// One name as a listing's reply has it.
struct ListedName {
  std::string name;
  std::uint64_t node = 0;  ///< of a plus: the inode that the kernel has a reference to now
  std::uint64_t next_offset = 0;
};
[[nodiscard]] std::vector<ListedName> names_in(std::string_view listing, bool plus);

/// Bytes that the body of a successful reply may have.
struct BodyLimits {
  std::size_t min = 0;
  std::size_t max = 0;
};
[[nodiscard]] BodyLimits reply_body_limits(const FuseRequest& request);

namespace fuse_request {

FuseRequest init(std::uint32_t minor, std::uint64_t flags);
FuseRequest lookup(std::uint64_t parent, std::string_view name);
FuseRequest forget(std::uint64_t node, std::uint64_t count);
FuseRequest batch_forget(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& counts);
FuseRequest getattr(std::uint64_t node);
/// @param valid  FATTR_* of what `in` sets
FuseRequest setattr(std::uint64_t node, std::uint32_t valid, std::uint64_t size = 0);
FuseRequest set_attributes(std::uint64_t node, const fuse_setattr_in& in);
FuseRequest open(std::uint64_t node, int flags);
FuseRequest opendir(std::uint64_t node);
/// @param direct  a read past the page cache, which names its lock owner
FuseRequest read(std::uint64_t node, std::uint64_t handle, std::uint64_t offset, std::uint32_t size,
                 bool direct = true);
FuseRequest readdir(std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
                    std::uint32_t size, bool plus);
FuseRequest write(std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
                  std::string_view bytes);
FuseRequest fallocate(std::uint64_t node, std::uint64_t handle, int mode, std::uint64_t offset,
                      std::uint64_t length);
FuseRequest create(std::uint64_t parent, std::string_view name, int flags);
FuseRequest flush(std::uint64_t node, std::uint64_t handle);
FuseRequest fsync(std::uint64_t node, std::uint64_t handle);
FuseRequest release(std::uint64_t node, std::uint64_t handle);
FuseRequest releasedir(std::uint64_t node, std::uint64_t handle);
FuseRequest mkdir(std::uint64_t parent, std::string_view name);
FuseRequest unlink(std::uint64_t parent, std::string_view name);
FuseRequest rmdir(std::uint64_t parent, std::string_view name);
/// @param flags  RENAME_*
FuseRequest rename(std::uint64_t parent, std::string_view name, std::string_view new_name,
                   std::uint32_t flags = 0);
FuseRequest link(std::uint64_t node, std::uint64_t parent, std::string_view name);
FuseRequest symlink(std::uint64_t parent, std::string_view name, std::string_view target);
FuseRequest readlink(std::uint64_t node);
/// @param flags  XATTR_*
FuseRequest setxattr(std::uint64_t node, std::string_view name, std::string_view value,
                     std::uint32_t flags = 0);
/// @param room_bytes  0: asks for the size
FuseRequest getxattr(std::uint64_t node, std::string_view name, std::uint32_t room_bytes);
FuseRequest listxattr(std::uint64_t node, std::uint32_t room_bytes);
FuseRequest removexattr(std::uint64_t node, std::string_view name);
FuseRequest mknod(std::uint64_t parent, std::string_view name, std::uint32_t mode);
FuseRequest statfs();
FuseRequest access(std::uint64_t node, std::uint32_t mask);
/// An operation without a body that the protocol may or may not have.
FuseRequest bare(std::uint32_t opcode, std::uint64_t node = 1);

}  // namespace fuse_request
}  // namespace s3rdmafs::fakes
