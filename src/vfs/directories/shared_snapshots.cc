// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/shared_snapshots.h"

#include <algorithm>

namespace s3rdmafs::vfs {

std::shared_ptr<DirectorySnapshot> SharedSnapshots::get(const DirectorySnapshot::Context& context,
                                                        const std::string& prefix,
                                                        const std::string& root_prefix) {
  return get_within(fresh_for_, context, prefix, root_prefix);
}

std::shared_ptr<DirectorySnapshot> SharedSnapshots::renew(const DirectorySnapshot::Context& context,
                                                          const std::string& prefix,
                                                          const std::string& root_prefix) {
  // Only one that was not read yet has no age.
  return get_within(std::chrono::milliseconds(0), context, prefix, root_prefix);
}

std::shared_ptr<DirectorySnapshot> SharedSnapshots::get_within(
    std::chrono::milliseconds fresh_for, const DirectorySnapshot::Context& context,
    const std::string& prefix, const std::string& root_prefix) {
  const MutexLock lock(mutex_);
  if (newest_.size() >= drop_ended_at_) drop_ended();
  std::weak_ptr<DirectorySnapshot>& newest = newest_[prefix];
  auto snapshot = newest.lock();
  if (snapshot && snapshot->is_fresh(fresh_for)) return snapshot;
  snapshot = std::make_shared<DirectorySnapshot>(context, prefix, root_prefix);
  newest = snapshot;
  return snapshot;
}

void SharedSnapshots::forget(const std::string& prefix) {
  const MutexLock lock(mutex_);
  newest_.erase(prefix);
}

// A pass over all entries each time that they have doubled costs each of them two visits.
void SharedSnapshots::drop_ended() {
  std::erase_if(newest_, [](const auto& entry) { return entry.second.expired(); });
  drop_ended_at_ = std::max<std::size_t>(64, 2 * newest_.size());
}

}  // namespace s3rdmafs::vfs
