// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <ctime>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// A folder's plain files and subfolders in the order of keys. A subfolder is "name/": so it sorts
/// among its siblings exactly where the keys below it do ("a-b" < "a/" < "a0").
using FolderSnapshot = std::vector<std::string>;

/// Keeps the last few sorted folders, so that paging through one of 100,000 files sorts it once.
///
/// A snapshot is used again only while the folder's time of modification stands, and only if that
/// was already in the past by kSettled when it was taken: a change within the clock's granularity
/// would go unnoticed otherwise. Thread-safe.
class SnapshotCache {
 public:
  explicit SnapshotCache(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] S3Result<std::shared_ptr<const FolderSnapshot>> get(int folder);

 private:
  struct Entry {
    dev_t device;
    ino_t inode;
    timespec modified;
    std::chrono::steady_clock::time_point taken;
    std::shared_ptr<const FolderSnapshot> snapshot;
  };

  std::shared_ptr<const FolderSnapshot> find(dev_t device, ino_t inode, const timespec& modified);
  void keep(Entry entry);

  const Clock& clock_;
  Mutex mutex_;                                  // leaf
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // latest used first
};

}  // namespace s3rdmafs::target
