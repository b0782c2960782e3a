// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/ahead_snapshots.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::vfs {

void AheadSnapshots::keep(std::shared_ptr<DirectorySnapshot> snapshot) {
  std::shared_ptr<DirectorySnapshot> oldest;  // ends after the lock
  const MutexLock lock(mutex_);
  snapshots_.push_back(std::move(snapshot));
  if (snapshots_.size() <= kMax) return;
  oldest = std::move(snapshots_.front());
  snapshots_.pop_front();
}

void AheadSnapshots::drop(const std::string& prefix) {
  std::shared_ptr<DirectorySnapshot> dropped;  // ends after the lock
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(snapshots_, prefix, &DirectorySnapshot::prefix);
  if (found == snapshots_.end()) return;
  dropped = std::move(*found);
  snapshots_.erase(found);
}

}  // namespace s3rdmafs::vfs
