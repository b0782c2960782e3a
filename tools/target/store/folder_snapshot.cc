// SPDX-License-Identifier: Apache-2.0
#include "target/store/folder_snapshot.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "target/store/tree.h"

namespace s3rdmafs::target {
namespace {

// NFS and older file systems keep whole seconds.
constexpr std::chrono::seconds kSettled{2};
// Long enough for a client to ask for its next page, short enough to bound what a file system with
// unreliable times (a network one) can hide.
constexpr std::chrono::seconds kAgeMax{30};
// Small folders are read faster than they are looked up.
constexpr std::size_t kWorthKeeping = 256;
// About 100 MB for names of usual length, whatever the tree looks like.
constexpr std::size_t kNamesMax = 1'000'000;

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

S3Result<std::shared_ptr<const FolderSnapshot>> SnapshotCache::get(int folder) {
  struct stat status{};
  if (::fstat(folder, &status) != 0) return refuse_errno("fstat a folder", errno);
  if (auto kept = find(status.st_dev, status.st_ino, status.st_mtim)) return kept;

  const std::chrono::system_clock::time_point modified{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::seconds(status.st_mtim.tv_sec) +
          std::chrono::nanoseconds(status.st_mtim.tv_nsec))};
  const bool settled = clock_.wall_now() - modified > kSettled;
  auto snapshot = std::make_shared<FolderSnapshot>();
  const int error = for_each_entry(folder, [&](const char* name, unsigned char type) {
    if (type == DT_REG) snapshot->emplace_back(name);
    if (type == DT_DIR) snapshot->emplace_back(name).push_back('/');
    return true;
  });
  if (error != 0) return refuse_errno("read a folder", error);
  std::ranges::sort(*snapshot);
  if (settled && snapshot->size() >= kWorthKeeping) {
    keep({.device = status.st_dev,
          .inode = status.st_ino,
          .modified = status.st_mtim,
          .taken = clock_.now(),
          .snapshot = snapshot});
  }
  return snapshot;
}

std::shared_ptr<const FolderSnapshot> SnapshotCache::find(dev_t device, ino_t inode,
                                                          const timespec& modified) {
  const MutexLock lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->device != device || it->inode != inode) continue;
    if (!same(it->modified, modified) || clock_.now() - it->taken > kAgeMax) {
      entries_.erase(it);
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, it);
    return entries_.front().snapshot;
  }
  return nullptr;
}

void SnapshotCache::keep(Entry entry) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& old) {
    return old.device == entry.device && old.inode == entry.inode;
  });
  entries_.push_front(std::move(entry));
  std::size_t names = 0;
  auto it = entries_.begin();
  for (; it != entries_.end(); ++it) {
    names += it->snapshot->size();
    if (names > kNamesMax) break;
  }
  entries_.erase(it, entries_.end());
}

}  // namespace s3rdmafs::target
