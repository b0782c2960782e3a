// SPDX-License-Identifier: Apache-2.0
// opendir, readdir, readdirplus and releasedir. Plus also gives the kernel an inode for each entry
// that it takes, so `ls -l` needs no lookups, and neither does opening what was listed.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "fuse/ops/ops.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse::ops {
namespace {

// A fuse_dirent and a name, padded to 8 bytes; a plus has a fuse_entry_out before it. More entries
// than this bound allows never fit, and copying an entry that does not fit is wasted.
constexpr std::size_t kSmallestEntryBytes = 24 + 8;
constexpr std::size_t kSmallestPlusEntryBytes = 128 + kSmallestEntryBytes;

// Where a file may be a symbolic link, d_type is DT_UNKNOWN, upon which a program asks.
struct stat listed_stat(const MountContext& mount, const vfs::Attributes& attributes) {
  struct stat result = mount.stat_of(attributes);
  if (!attributes.is_type_known) result.st_mode &= ~S_IFMT;
  return result;
}

// Names that a listing gives no inode with. A bucket may have keys below the name of the folder of
// StatusFiles, which lookups give.
bool is_name_alone(const std::string& name) {
  return name == "." || name == ".." || name == StatusFiles::kFolderName;
}

std::size_t add_plain(const Reply& reply, const MountContext& mount, std::span<char> room,
                      const vfs::DirectoryEntry& entry) {
  const struct stat attributes = listed_stat(mount, entry.attributes);
  return fuse_add_direntry(reply.request(), room.data(), room.size(), entry.name.c_str(),
                           &attributes, static_cast<off_t>(entry.next_offset));
}

std::size_t bytes_of(const vfs::DirectoryEntry& entry, bool plus) {
  return (plus ? kSmallestPlusEntryBytes : kSmallestEntryBytes) - 8 +
         (entry.name.size() + 7) / 8 * 8;
}

// Asks for the needed room first: an entry that does not fit must not gain a reference.
std::size_t add_plus(const Reply& reply, const MountContext& mount, std::span<char> room,
                     const vfs::DirectoryEntry& entry, std::vector<vfs::Ino>& given) {
  const std::size_t needed = bytes_of(entry, /*plus=*/true);
  if (needed > room.size()) return needed;
  fuse_entry_param param{};
  const vfs::Entry remembered = is_name_alone(entry.name)
                                    ? vfs::Entry()
                                    : mount.file_system_of(entry.attributes.ino).add_lookup(entry);
  // If ino stays 0, the kernel takes the name alone and counts no reference. The number in `attr`
  // is d_ino, and must not be 0: programs take such an entry for a removed one.
  if (remembered.attributes.ino != 0) {
    param = entry_param(mount, remembered);
    given.push_back(param.ino);
  } else {
    param.attr = listed_stat(mount, entry.attributes);
  }
  const auto next = static_cast<off_t>(entry.next_offset);
  return fuse_add_direntry_plus(reply.request(), room.data(), room.size(), entry.name.c_str(),
                                &param, next);
}

void read_directory(fuse_req_t request, std::size_t size, off_t offset, std::uint64_t handle,
                    bool plus) {
  MountContext& mount = context_of(request);
  const auto from = static_cast<std::uint64_t>(offset);
  const std::size_t entries_max = size / (plus ? kSmallestPlusEntryBytes : kSmallestEntryBytes);
  auto answer = [&mount, reply = Reply(request, Opcode::kReaddir), size,
                 plus](const Result<std::vector<vfs::DirectoryEntry>>& entries) mutable {
    if (!entries) {
      reply.error(entries.error());
      return;
    }
    // A program may give a megabyte, and a page of a listing take an eighth of that.
    std::size_t wanted = 0;
    for (const vfs::DirectoryEntry& entry : *entries) wanted += bytes_of(entry, plus);
    std::vector<char> buffer(std::min(size, wanted));
    std::size_t used = 0;
    std::vector<vfs::Ino> given;
    for (const vfs::DirectoryEntry& entry : *entries) {
      const auto room = std::span(buffer).subspan(used);
      const std::size_t needed =
          plus ? add_plus(reply, mount, room, entry, given) : add_plain(reply, mount, room, entry);
      if (needed > room.size()) break;
      used += needed;
    }
    if (reply.bytes(std::span(buffer).first(used))) return;
    for (const vfs::Ino ino : given) mount.file_system_of(ino).forget(ino, 1);
  };
  if (plus) {
    return mount.file_system_of(handle).read_directory_plus(handle, from, entries_max,
                                                            mount.deadline(), std::move(answer));
  }
  mount.file_system_of(handle).read_directory(handle, from, entries_max, mount.deadline(),
                                              std::move(answer));
}

}  // namespace

void opendir(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) noexcept {
  MountContext& mount = context_of(request);
  Reply reply(request, Opcode::kOpen);
  const auto handle = mount.file_system_of(ino).open_directory(ino);
  if (!handle) {
    reply.error(handle.error());
    return;
  }
  fuse_file_info opened = *file;
  opened.fh = *handle;
  const bool is_open = reply.open([&opened](fuse_req_t) { return opened; });
  if (!is_open) mount.file_system_of(*handle).release_directory(*handle);
}

void readdir(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
             fuse_file_info* file) noexcept {
  read_directory(request, size, offset, file->fh, /*plus=*/false);
}

void readdirplus(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
                 fuse_file_info* file) noexcept {
  read_directory(request, size, offset, file->fh, /*plus=*/true);
}

void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* file) noexcept {
  Reply reply = Reply::uninterruptible(request, Opcode::kRelease);
  context_of(request).file_system_of(file->fh).release_directory(file->fh);
  reply.errno_value(0);
}

}  // namespace s3rdmafs::fuse::ops
