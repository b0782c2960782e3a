// SPDX-License-Identifier: Apache-2.0
#include "fakes/fuse/kernel_inodes.h"

#include <sys/stat.h>

#include <cerrno>

namespace s3rdmafs::fakes {
namespace {

constexpr std::uint64_t kRootNode = 1;

}  // namespace

void KernelInodes::on_sent(const FuseRequest& request) {
  const FuseReply body{.body = request.body};
  switch (request.opcode) {
    case FUSE_FORGET:
      forget(request.node, body.as<fuse_forget_in>().nlookup);
      break;
    case FUSE_BATCH_FORGET:
      for (std::uint32_t i = 0; i < body.as<fuse_batch_forget_in>().count; ++i) {
        const auto one =
            body.as<fuse_forget_one>(sizeof(fuse_batch_forget_in) + i * sizeof(fuse_forget_one));
        forget(one.nodeid, one.nlookup);
      }
      break;
    case FUSE_RELEASE:
      release(body.as<fuse_release_in>().fh);
      break;
    case FUSE_RELEASEDIR:
      directories_.erase(body.as<fuse_release_in>().fh);
      break;
    default:
      break;
  }
}

void KernelInodes::on_reply(const FuseRequest& request, const FuseReply& reply) {
  switch (request.opcode) {
    case FUSE_LOOKUP:
    case FUSE_MKDIR:
      add_reference(reply.as<fuse_entry_out>().nodeid);
      break;
    case FUSE_CREATE: {
      const auto node = reply.as<fuse_entry_out>().nodeid;
      add_reference(node);
      open(node, reply.as<fuse_open_out>(sizeof(fuse_entry_out)));
      break;
    }
    case FUSE_OPEN:
      open(request.node, reply.as<fuse_open_out>());
      break;
    case FUSE_OPENDIR:
      if (!directories_.insert(reply.as<fuse_open_out>().fh).second) {
        add_violation("a handle of a directory was given twice");
      }
      break;
    case FUSE_READDIRPLUS:
      for (const ListedName& listed : names_in(reply.body, /*plus=*/true)) {
        if (listed.name != "." && listed.name != "..") add_reference(listed.node);
      }
      break;
    default:
      break;
  }
}

int KernelInodes::store(std::uint64_t node, std::uint64_t offset, std::string_view bytes) {
  if (!lookups_.contains(node)) return ENOENT;
  for (const auto& [handle, file] : files_) {
    if (file.node == node) add_violation("bytes were stored into an inode that has an open file");
  }
  std::string& pages = page_cache_[node];
  if (pages.size() < offset + bytes.size()) pages.resize(offset + bytes.size());
  pages.replace(offset, bytes.size(), bytes);
  return 0;
}

int KernelInodes::open_backing(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return -EBADF;
  if (!S_ISREG(status.st_mode)) return -EOPNOTSUPP;
  backings_[++last_backing_id_] = status.st_ino;
  return static_cast<int>(last_backing_id_);
}

int KernelInodes::close_backing(std::uint32_t id) {
  if (backings_.erase(id) == 1) return 0;
  add_violation("a backing id was closed that is not open: " + std::to_string(id));
  return -ENOENT;
}

std::string KernelInodes::page_cache(std::uint64_t node) const {
  const auto found = page_cache_.find(node);
  return found == page_cache_.end() ? "" : found->second;
}

void KernelInodes::add_reference(std::uint64_t node) {
  if (node != 0) ++lookups_[node];
}

void KernelInodes::forget(std::uint64_t node, std::uint64_t count) {
  if (node == kRootNode) return;
  const auto found = lookups_.find(node);
  if (found == lookups_.end() || found->second < count) {
    add_violation("the test forgets more references than the kernel has");
    return;
  }
  found->second -= count;
  if (found->second > 0) return;
  lookups_.erase(found);
  page_cache_.erase(node);
}

void KernelInodes::open(std::uint64_t node, const fuse_open_out& out) {
  const bool is_new = files_.emplace(out.fh, OpenFile{node, out.open_flags}).second;
  if (!is_new) add_violation("a handle was given twice: " + std::to_string(out.fh));
  IoMode& mode = modes_[node];
  if ((out.open_flags & FOPEN_PASSTHROUGH) != 0) {
    enter_passthrough(mode, out);
    return;
  }
  if ((out.open_flags & FOPEN_KEEP_CACHE) == 0) page_cache_.erase(node);
  if ((out.open_flags & FOPEN_DIRECT_IO) != 0) return;
  if (mode.passthrough > 0) add_violation("a cached open of an inode that is passed through");
  ++mode.cached;
}

void KernelInodes::enter_passthrough(IoMode& mode, const fuse_open_out& out) {
  constexpr std::uint32_t kAllowed =
      FOPEN_PASSTHROUGH | FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES | FOPEN_NOFLUSH;
  const std::uint32_t backing_id = backing_id_of(out);
  if ((out.open_flags & ~kAllowed) != 0) add_violation("passthrough with a flag it refuses");
  if (!backings_.contains(backing_id)) add_violation("passthrough with an unknown backing id");
  if (mode.cached > 0) add_violation("passthrough of an inode that is open through the page cache");
  if (mode.passthrough > 0 && mode.backing_id != backing_id) {
    add_violation("passthrough of one inode with two backing files");
  }
  mode.backing_id = backing_id;
  ++mode.passthrough;
}

void KernelInodes::release(std::uint64_t handle) {
  const auto found = files_.find(handle);
  if (found == files_.end()) return;  // of an open that the test made up
  IoMode& mode = modes_[found->second.node];
  if ((found->second.flags & FOPEN_PASSTHROUGH) != 0) {
    --mode.passthrough;
  } else if ((found->second.flags & FOPEN_DIRECT_IO) == 0) {
    --mode.cached;
  }
  files_.erase(found);
}

}  // namespace s3rdmafs::fakes
