// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/directory_times.h"

#include <algorithm>

namespace s3rdmafs::vfs {
namespace {

// About 150 bytes each. When they are full all are forgotten, and every directory gets the time of
// then: a program looks once more, and finds nothing new.
constexpr std::size_t kDirectoriesMax = 16'384;

// Two changes within one tick of the clock must show as two.
constexpr std::chrono::microseconds kStep{1};

}  // namespace

DirectoryTimes::Time DirectoryTimes::of(const std::string& prefix) const {
  const MutexLock lock(mutex_);
  const auto found = changed_.find(prefix);
  return found == changed_.end() ? unchanged_ : found->second;
}

void DirectoryTimes::on_changed(const std::string& prefix, Time now) {
  const MutexLock lock(mutex_);
  const auto found = changed_.find(prefix);
  const Time last = found == changed_.end() ? unchanged_ : found->second;
  const Time next = std::max<Time>(now, last + kStep);
  if (found != changed_.end()) {
    found->second = next;
    return;
  }
  if (changed_.size() >= kDirectoriesMax) {
    changed_.clear();
    unchanged_ = std::max(unchanged_, next);
  }
  changed_.emplace(prefix, next);
}

}  // namespace s3rdmafs::vfs
