// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directory_handle.h"

#include <utility>

namespace s3rdmafs::vfs {

std::shared_ptr<DirectorySnapshot> DirectoryHandle::snapshot_at(std::uint64_t offset,
                                                                const ReopenSnapshot& reopen) {
  const MutexLock lock(mutex_);
  if (std::exchange(was_read_, true) && offset == 0) {
    const std::string prefix = snapshot_->prefix();
    snapshot_.reset();  // first: two listings of a large directory need twice the memory
    snapshot_ = reopen(prefix);
  }
  return snapshot_;
}

InodeGrants::Reply DirectoryHandle::plan_reply(std::uint64_t offset, std::size_t names_max,
                                               LookupCounts& lookups) {
  const MutexLock lock(mutex_);
  if (offset == 0) inodes_ = {};
  if (offset < InodeGrants::kOnTrust) return {names_max, true};
  if (!lookups_) lookups_ = lookups.watch(snapshot_->prefix());
  return inodes_.next(offset, names_max, *lookups_);
}

void DirectoryHandle::show_besides(std::shared_ptr<const NamesBesides> names) {
  const MutexLock lock(mutex_);
  besides_.swap(names);  // the former names are destroyed after the lock
}

std::shared_ptr<const NamesBesides> DirectoryHandle::besides() const {
  const MutexLock lock(mutex_);
  return besides_;
}

}  // namespace s3rdmafs::vfs
