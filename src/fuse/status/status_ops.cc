// SPDX-License-Identifier: Apache-2.0
// Why in front of the operations and not in them: none of them needs to know that there is such a
// folder. Cost: one comparison of a number for each request.
//
// The kernel checks the mode bits (default_permissions), and caches neither sizes nor pages: a text
// has no length before it is made, so files say 0 and are read past the page cache, as those of
// proc(5).
#include "fuse/status/status_ops.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "fuse/mount_context.h"
#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse {
namespace {

// Names and modes never change while the mount lives.
constexpr double kValidSeconds = 3600;

struct stat stat_of_status(const MountContext& mount, vfs::Ino ino) {
  struct stat result{};
  result.st_ino = ino;
  result.st_mode = ino == StatusFiles::kFolderIno ? S_IFDIR | 0500 : S_IFREG | 0400;
  result.st_nlink = 1;
  result.st_uid = mount.presentation.uid;
  result.st_gid = mount.presentation.gid;
  return result;
}

void status_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  const bool is_folder = StatusFiles::is_folder(parent, name);
  if (!is_folder && !StatusFiles::owns(parent)) return ops::lookup(request, parent, name);
  const MountContext& mount = ops::context_of(request);
  Reply reply(request, Opcode::kLookup);
  const vfs::Ino ino = is_folder ? StatusFiles::kFolderIno : mount.status.find(name);
  fuse_entry_param entry{};
  entry.ino = ino;  // 0: no such name
  entry.entry_timeout = kValidSeconds;
  entry.attr_timeout = kValidSeconds;
  if (ino != 0) entry.attr = stat_of_status(mount, ino);
  reply.entry(entry);
}

void status_forget(fuse_req_t request, fuse_ino_t ino, std::uint64_t count) noexcept {
  if (!StatusFiles::owns(ino)) return ops::forget(request, ino, count);
  fuse_reply_none(request);
}

void status_forget_multi(fuse_req_t request, std::size_t count,
                         fuse_forget_data* forgets) noexcept {
  // Those of inode 0 are forgotten without effect: no inode has that number.
  for (fuse_forget_data& forget : std::span(forgets, count)) {
    if (StatusFiles::owns(forget.ino)) forget = {.ino = 0, .nlookup = 0};
  }
  ops::forget_multi(request, count, forgets);
}

void status_getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::getattr(request, ino, file);
  Reply reply(request, Opcode::kGetattr);
  reply.attributes(stat_of_status(ops::context_of(request), ino), kValidSeconds);
}

void status_opendir(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::opendir(request, ino, file);
  Reply reply(request, Opcode::kOpen);
  reply.open([opened = *file](fuse_req_t) { return opened; });
}

struct Listed {
  std::string name;
  vfs::Ino ino;
};

std::vector<Listed> listing_of(const StatusFiles& status) {
  std::vector<Listed> listing = {{".", StatusFiles::kFolderIno}, {"..", vfs::kRootIno}};
  for (std::size_t i = 0; i < status.files().size(); ++i) {
    listing.push_back({status.files()[i].name, StatusFiles::ino_of(i)});
  }
  return listing;
}

void list_status_files(fuse_req_t request, std::size_t size, off_t offset, bool plus) {
  const MountContext& mount = ops::context_of(request);
  Reply reply(request, Opcode::kReaddir);
  const std::vector<Listed> listing = listing_of(mount.status);
  // A page has room for all there is, whatever the program offers.
  std::vector<char> buffer(std::min<std::size_t>(size, 4096));
  std::size_t used = 0;
  for (auto i = static_cast<std::size_t>(offset); i < listing.size(); ++i) {
    fuse_entry_param entry{};  // inode 0: the kernel takes the name alone, and counts no reference
    entry.attr = stat_of_status(mount, listing[i].ino);
    const auto room = std::span(buffer).subspan(used);
    const auto next = static_cast<off_t>(i + 1);
    const std::size_t needed = plus ? fuse_add_direntry_plus(request, room.data(), room.size(),
                                                             listing[i].name.c_str(), &entry, next)
                                    : fuse_add_direntry(request, room.data(), room.size(),
                                                        listing[i].name.c_str(), &entry.attr, next);
    if (needed > room.size()) break;
    used += needed;
  }
  reply.bytes(std::span(buffer).first(used));
}

void status_readdir(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
                    fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::readdir(request, ino, size, offset, file);
  list_status_files(request, size, offset, /*plus=*/false);
}

void status_readdirplus(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
                        fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::readdirplus(request, ino, size, offset, file);
  list_status_files(request, size, offset, /*plus=*/true);
}

void status_open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::open(request, ino, file);
  MountContext& mount = ops::context_of(request);
  Reply reply(request, Opcode::kOpen);
  const StatusFile* const found = mount.status.find(ino);
  if (found == nullptr) return reply.errno_value(EISDIR);
  if ((file->flags & O_ACCMODE) != O_RDONLY) return reply.errno_value(EACCES);
  fuse_file_info opened = *file;
  opened.fh = mount.status.open(*found);
  opened.direct_io = 1;
  opened.noflush = 1;
  if (!reply.open([&opened](fuse_req_t) { return opened; })) mount.status.release(opened.fh);
}

void status_read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
                 fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::read(request, ino, size, offset, file);
  const MountContext& mount = ops::context_of(request);
  Reply reply(request, Opcode::kOther);  // the times of reads are those of objects
  reply.bytes(mount.status.read(file->fh, static_cast<std::uint64_t>(offset), size));
}

void status_release(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  if (!StatusFiles::owns(ino)) return ops::release(request, ino, file);
  Reply reply = Reply::uninterruptible(request, Opcode::kRelease);
  ops::context_of(request).status.release(file->fh);
  reply.errno_value(0);
}

void answer(fuse_req_t request, int value) {
  Reply::uninterruptible(request, Opcode::kOther).errno_value(value);
}
void refuse(fuse_req_t request) { answer(request, EPERM); }

// An operation on an inode, which has this one answer here. 0: it does nothing, and says that it
// did.
template <auto kOperation, int kErrno, class... Rest>
void or_answer(fuse_req_t request, fuse_ino_t ino, Rest... rest) noexcept {
  if (StatusFiles::owns(ino)) return answer(request, kErrno);
  kOperation(request, ino, rest...);
}

template <auto kOperation, class... Rest>
void or_refuse_name(fuse_req_t request, fuse_ino_t parent, const char* name,
                    Rest... rest) noexcept {
  if (StatusFiles::owns(parent) || StatusFiles::is_folder(parent, name)) return refuse(request);
  kOperation(request, parent, name, rest...);
}

void status_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
                   const char* new_name, unsigned flags) noexcept {
  const auto is_ours = [](fuse_ino_t ino, const char* of) {
    return StatusFiles::owns(ino) || StatusFiles::is_folder(ino, of);
  };
  if (is_ours(parent, name) || is_ours(new_parent, new_name)) return refuse(request);
  ops::rename(request, parent, name, new_parent, new_name, flags);
}

void status_link(fuse_req_t request, fuse_ino_t ino, fuse_ino_t new_parent,
                 const char* new_name) noexcept {
  if (StatusFiles::owns(ino) || StatusFiles::owns(new_parent)) return refuse(request);
  ops::link(request, ino, new_parent, new_name);
}

void status_symlink(fuse_req_t request, const char* target, fuse_ino_t parent,
                    const char* name) noexcept {
  if (StatusFiles::owns(parent)) return refuse(request);
  ops::symlink(request, target, parent, name);
}

// EXDEV: the program copies by reading and writing.
void status_copy_file_range(fuse_req_t request, fuse_ino_t from_ino, off_t from_offset,
                            fuse_file_info* from, fuse_ino_t to_ino, off_t to_offset,
                            fuse_file_info* to, std::size_t length, int flags) noexcept {
  if (StatusFiles::owns(from_ino) || StatusFiles::owns(to_ino)) {
    return answer(request, EXDEV);
  }
  ops::copy_file_range(request, from_ino, from_offset, from, to_ino, to_offset, to, length, flags);
}

void status_listxattr(fuse_req_t request, fuse_ino_t ino, std::size_t size) noexcept {
  if (!StatusFiles::owns(ino)) return ops::listxattr(request, ino, size);
  Reply reply(request, Opcode::kOther);
  if (size == 0) return reply.size(0);
  reply.bytes({});
}

}  // namespace

fuse_lowlevel_ops table_with_status_files() noexcept {
  fuse_lowlevel_ops table = ops::table();
  table.lookup = status_lookup;
  table.forget = status_forget;
  table.forget_multi = status_forget_multi;
  table.getattr = status_getattr;
  table.access = or_answer<ops::access, 0>;
  table.opendir = status_opendir;
  table.readdir = status_readdir;
  table.readdirplus = status_readdirplus;
  table.releasedir = or_answer<ops::releasedir, 0>;
  table.open = status_open;
  table.read = status_read;
  table.release = status_release;
  table.flush = or_answer<ops::flush, 0>;
  table.fsync = or_answer<ops::fsync, 0>;
  table.write = or_answer<ops::write, EPERM>;
  table.setattr = or_answer<ops::setattr, EPERM>;
  table.fallocate = or_answer<ops::fallocate, EPERM>;
  table.setxattr = or_answer<ops::setxattr, EPERM>;
  table.removexattr = or_answer<ops::removexattr, EPERM>;
  table.readlink = or_answer<ops::readlink, EPERM>;
  table.create = or_refuse_name<ops::create>;
  table.mkdir = or_refuse_name<ops::mkdir>;
  table.mknod = or_refuse_name<ops::mknod>;
  table.unlink = or_refuse_name<ops::unlink>;
  table.rmdir = or_refuse_name<ops::rmdir>;
  table.rename = status_rename;
  table.link = status_link;
  table.symlink = status_symlink;
  table.copy_file_range = status_copy_file_range;
  table.getxattr = or_answer<ops::getxattr, ENODATA>;
  table.listxattr = status_listxattr;
  return table;
}

}  // namespace s3rdmafs::fuse
