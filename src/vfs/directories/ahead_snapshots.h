// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_snapshot.h"
#include "vfs/directories/sibling_order.h"

namespace s3rdmafs::vfs {

/// The snapshots that were listed ahead and that no handle has opened yet: kept alive, so that
/// SharedSnapshots finds them. The newest few; one that is not used is dropped by those that
/// follow. Thread-safe.
class AheadSnapshots {
 public:
  static constexpr std::size_t kMax = 2 * SiblingOrder::kAheadMax;

  void keep(std::shared_ptr<DirectorySnapshot> snapshot) EXCLUDES(mutex_);
  /// Does nothing for a directory of which it has none.
  void drop(const std::string& prefix) EXCLUDES(mutex_);

 private:
  Mutex mutex_;  // leaf: no snapshot ends while it is held
  std::deque<std::shared_ptr<DirectorySnapshot>> snapshots_ GUARDED_BY(mutex_);  // oldest first
};

}  // namespace s3rdmafs::vfs
