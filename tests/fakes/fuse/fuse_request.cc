// SPDX-License-Identifier: Apache-2.0
#include "fakes/fuse/fuse_request.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

namespace s3rdmafs::fakes {
namespace {

constexpr std::uint64_t kLockOwner = 0x10c4;

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string terminated(std::string_view name) { return std::string(name) + '\0'; }

FuseRequest release_of(std::uint32_t opcode, std::uint64_t node, std::uint64_t handle) {
  fuse_release_in in{};
  in.fh = handle;
  return {.opcode = opcode, .node = node, .body = bytes_of(in)};
}

std::uint32_t size_asked_for(const FuseRequest& request) {
  return FuseReply{.body = request.body}.as<fuse_read_in>().size;
}

}  // namespace

std::vector<ListedName> names_in(std::string_view listing, bool plus) {
  const FuseReply reply{.body = std::string(listing)};
  const std::size_t before_dirent = plus ? sizeof(fuse_entry_out) : 0;
  std::vector<ListedName> names;
  for (std::size_t at = 0; at + before_dirent + FUSE_NAME_OFFSET <= listing.size();) {
    const auto dirent = reply.as<fuse_dirent>(at + before_dirent);
    const std::size_t name_at = at + before_dirent + FUSE_NAME_OFFSET;
    names.push_back({.name = std::string(listing.substr(name_at, dirent.namelen)),
                     .node = plus ? reply.as<fuse_entry_out>(at).nodeid : 0,
                     .next_offset = dirent.off});
    at += FUSE_REC_ALIGN(before_dirent + FUSE_NAME_OFFSET + dirent.namelen);
  }
  return names;
}

BodyLimits reply_body_limits(const FuseRequest& request) {
  const auto exactly = [](std::size_t bytes) { return BodyLimits{bytes, bytes}; };
  switch (request.opcode) {
    case FUSE_INIT:
      return {FUSE_COMPAT_INIT_OUT_SIZE, sizeof(fuse_init_out)};
    case FUSE_LOOKUP:
    case FUSE_MKDIR:
    case FUSE_MKNOD:
    case FUSE_SYMLINK:
    case FUSE_LINK:
      return exactly(sizeof(fuse_entry_out));
    case FUSE_GETATTR:
    case FUSE_SETATTR:
      return exactly(sizeof(fuse_attr_out));
    case FUSE_OPEN:
    case FUSE_OPENDIR:
      return exactly(sizeof(fuse_open_out));
    case FUSE_CREATE:
      return exactly(sizeof(fuse_entry_out) + sizeof(fuse_open_out));
    case FUSE_READLINK:
      return {1, 4095};
    case FUSE_READ:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      return {0, size_asked_for(request)};
    case FUSE_GETXATTR:
    case FUSE_LISTXATTR: {
      const std::uint32_t room_bytes = FuseReply{.body = request.body}.as<fuse_getxattr_in>().size;
      return room_bytes == 0 ? exactly(sizeof(fuse_getxattr_out)) : BodyLimits{0, room_bytes};
    }
    case FUSE_WRITE:
      return exactly(sizeof(fuse_write_out));
    case FUSE_STATFS:
      return exactly(sizeof(fuse_statfs_out));
    default:
      return exactly(0);
  }
}

namespace fuse_request {

FuseRequest init(std::uint32_t minor, std::uint64_t flags) {
  fuse_init_in in{};
  in.major = FUSE_KERNEL_VERSION;
  in.minor = minor;
  in.max_readahead = 128 << 10;
  in.flags = static_cast<std::uint32_t>(flags) | FUSE_INIT_EXT;
  in.flags2 = static_cast<std::uint32_t>(flags >> 32);
  return {.opcode = FUSE_INIT, .node = 0, .body = bytes_of(in)};
}

FuseRequest lookup(std::uint64_t parent, std::string_view name) {
  return {.opcode = FUSE_LOOKUP, .node = parent, .body = terminated(name)};
}

FuseRequest forget(std::uint64_t node, std::uint64_t count) {
  return {.opcode = FUSE_FORGET, .node = node, .body = bytes_of(fuse_forget_in{.nlookup = count})};
}

FuseRequest batch_forget(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& counts) {
  fuse_batch_forget_in in{};
  in.count = static_cast<std::uint32_t>(counts.size());
  FuseRequest request{.opcode = FUSE_BATCH_FORGET, .node = 0, .body = bytes_of(in)};
  for (const auto& [node, count] : counts) {
    request.body += bytes_of(fuse_forget_one{.nodeid = node, .nlookup = count});
  }
  return request;
}

FuseRequest getattr(std::uint64_t node) {
  return {.opcode = FUSE_GETATTR, .node = node, .body = bytes_of(fuse_getattr_in{})};
}

FuseRequest setattr(std::uint64_t node, std::uint32_t valid, std::uint64_t size) {
  fuse_setattr_in in{};
  in.valid = valid;
  in.size = size;
  in.mode = S_IFREG | 0600;
  return {.opcode = FUSE_SETATTR, .node = node, .body = bytes_of(in)};
}

FuseRequest set_attributes(std::uint64_t node, const fuse_setattr_in& in) {
  return {.opcode = FUSE_SETATTR, .node = node, .body = bytes_of(in)};
}

FuseRequest fallocate(std::uint64_t node, std::uint64_t handle, int mode, std::uint64_t offset,
                      std::uint64_t length) {
  fuse_fallocate_in in{};
  in.fh = handle;
  in.mode = static_cast<std::uint32_t>(mode);
  in.offset = offset;
  in.length = length;
  return {.opcode = FUSE_FALLOCATE, .node = node, .body = bytes_of(in)};
}

FuseRequest open(std::uint64_t node, int flags) {
  fuse_open_in in{};
  in.flags = static_cast<std::uint32_t>(flags);
  return {.opcode = FUSE_OPEN, .node = node, .body = bytes_of(in)};
}

FuseRequest opendir(std::uint64_t node) {
  FuseRequest request = open(node, O_RDONLY | O_DIRECTORY);
  request.opcode = FUSE_OPENDIR;
  return request;
}

FuseRequest read(std::uint64_t node, std::uint64_t handle, std::uint64_t offset, std::uint32_t size,
                 bool direct) {
  fuse_read_in in{};
  in.fh = handle;
  in.offset = offset;
  in.size = size;
  if (direct) {
    in.read_flags = FUSE_READ_LOCKOWNER;
    in.lock_owner = kLockOwner;
  }
  return {.opcode = FUSE_READ, .node = node, .body = bytes_of(in)};
}

FuseRequest readdir(std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
                    std::uint32_t size, bool plus) {
  FuseRequest request = read(node, handle, offset, size, /*direct=*/false);
  request.opcode = plus ? FUSE_READDIRPLUS : FUSE_READDIR;
  return request;
}

FuseRequest write(std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
                  std::string_view bytes) {
  fuse_write_in in{};
  in.fh = handle;
  in.offset = offset;
  in.size = static_cast<std::uint32_t>(bytes.size());
  return {.opcode = FUSE_WRITE, .node = node, .body = bytes_of(in) + std::string(bytes)};
}

FuseRequest create(std::uint64_t parent, std::string_view name, int flags) {
  fuse_create_in in{};
  in.flags = static_cast<std::uint32_t>(flags | O_CREAT);
  in.mode = S_IFREG | 0644;
  return {.opcode = FUSE_CREATE, .node = parent, .body = bytes_of(in) + terminated(name)};
}

FuseRequest flush(std::uint64_t node, std::uint64_t handle) {
  fuse_flush_in in{};
  in.fh = handle;
  in.lock_owner = kLockOwner;
  return {.opcode = FUSE_FLUSH, .node = node, .body = bytes_of(in)};
}

FuseRequest fsync(std::uint64_t node, std::uint64_t handle) {
  fuse_fsync_in in{};
  in.fh = handle;
  return {.opcode = FUSE_FSYNC, .node = node, .body = bytes_of(in)};
}

FuseRequest release(std::uint64_t node, std::uint64_t handle) {
  return release_of(FUSE_RELEASE, node, handle);
}

FuseRequest releasedir(std::uint64_t node, std::uint64_t handle) {
  return release_of(FUSE_RELEASEDIR, node, handle);
}

FuseRequest mkdir(std::uint64_t parent, std::string_view name) {
  fuse_mkdir_in in{};
  in.mode = 0755;
  return {.opcode = FUSE_MKDIR, .node = parent, .body = bytes_of(in) + terminated(name)};
}

FuseRequest unlink(std::uint64_t parent, std::string_view name) {
  return {.opcode = FUSE_UNLINK, .node = parent, .body = terminated(name)};
}

FuseRequest rmdir(std::uint64_t parent, std::string_view name) {
  return {.opcode = FUSE_RMDIR, .node = parent, .body = terminated(name)};
}

FuseRequest rename(std::uint64_t parent, std::string_view name, std::string_view new_name,
                   std::uint32_t flags) {
  return {.opcode = FUSE_RENAME2,
          .node = parent,
          .body = bytes_of(fuse_rename2_in{.newdir = parent, .flags = flags, .padding = 0}) +
                  terminated(name) + terminated(new_name)};
}

FuseRequest link(std::uint64_t node, std::uint64_t parent, std::string_view name) {
  return {.opcode = FUSE_LINK,
          .node = parent,
          .body = bytes_of(fuse_link_in{.oldnodeid = node}) + terminated(name)};
}

FuseRequest symlink(std::uint64_t parent, std::string_view name, std::string_view target) {
  return {.opcode = FUSE_SYMLINK, .node = parent, .body = terminated(name) + terminated(target)};
}

FuseRequest readlink(std::uint64_t node) { return {.opcode = FUSE_READLINK, .node = node}; }

// Without FUSE_SETXATTR_EXT the kernel sends the first two fields alone.
FuseRequest setxattr(std::uint64_t node, std::string_view name, std::string_view value,
                     std::uint32_t flags) {
  fuse_setxattr_in in{};
  in.size = static_cast<std::uint32_t>(value.size());
  in.flags = flags;
  return {.opcode = FUSE_SETXATTR,
          .node = node,
          .body = bytes_of(in).substr(0, FUSE_COMPAT_SETXATTR_IN_SIZE) + terminated(name) +
                  std::string(value)};
}

FuseRequest getxattr(std::uint64_t node, std::string_view name, std::uint32_t room_bytes) {
  fuse_getxattr_in in{};
  in.size = room_bytes;
  return {.opcode = FUSE_GETXATTR, .node = node, .body = bytes_of(in) + terminated(name)};
}

FuseRequest listxattr(std::uint64_t node, std::uint32_t room_bytes) {
  fuse_getxattr_in in{};
  in.size = room_bytes;
  return {.opcode = FUSE_LISTXATTR, .node = node, .body = bytes_of(in)};
}

FuseRequest removexattr(std::uint64_t node, std::string_view name) {
  return {.opcode = FUSE_REMOVEXATTR, .node = node, .body = terminated(name)};
}

FuseRequest mknod(std::uint64_t parent, std::string_view name, std::uint32_t mode) {
  fuse_mknod_in in{};
  in.mode = mode;
  return {.opcode = FUSE_MKNOD, .node = parent, .body = bytes_of(in) + terminated(name)};
}

FuseRequest statfs() { return {.opcode = FUSE_STATFS, .node = 1}; }

FuseRequest access(std::uint64_t node, std::uint32_t mask) {
  fuse_access_in in{};
  in.mask = mask;
  return {.opcode = FUSE_ACCESS, .node = node, .body = bytes_of(in)};
}

FuseRequest bare(std::uint32_t opcode, std::uint64_t node) {
  return {.opcode = opcode, .node = node, .body = std::string(64, '\0')};
}

}  // namespace fuse_request
}  // namespace s3rdmafs::fakes
