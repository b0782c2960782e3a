// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_snapshot.h"
#include "vfs/directories/inodes/inode_grants.h"
#include "vfs/directories/inodes/lookup_counts.h"
#include "vfs/directories/names_besides.h"

namespace s3rdmafs::vfs {

/// An open directory. It reads one snapshot, which other handles may read as well, until it is
/// rewound. Thread-safe.
class DirectoryHandle {
 public:
  using ReopenSnapshot =
      std::function<std::shared_ptr<DirectorySnapshot>(const std::string& prefix)>;

  explicit DirectoryHandle(std::shared_ptr<DirectorySnapshot> snapshot)
      : snapshot_(std::move(snapshot)) {}

  /// The snapshot for a read at `offset`. A read that begins again (rewinddir) drops the snapshot
  /// for one that shows the directory as it is now.
  [[nodiscard]] std::shared_ptr<DirectorySnapshot> snapshot_at(std::uint64_t offset,
                                                               const ReopenSnapshot& reopen);

  /// Reads from now on show these names besides the listing; null: none.
  void show_besides(std::shared_ptr<const NamesBesides> names);
  [[nodiscard]] std::shared_ptr<const NamesBesides> besides() const;

  /// The limits of a reply that begins at `offset`; see InodeGrants.
  [[nodiscard]] InodeGrants::Reply plan_reply(std::uint64_t offset, std::size_t names_max,
                                              LookupCounts& lookups);

 private:
  mutable Mutex mutex_;  // lock order 2a
  std::shared_ptr<DirectorySnapshot> snapshot_ GUARDED_BY(mutex_);
  std::shared_ptr<const NamesBesides> besides_ GUARDED_BY(mutex_);
  bool was_read_ GUARDED_BY(mutex_) = false;
  InodeGrants inodes_ GUARDED_BY(mutex_);
  /// Of its directory, once the listing has more names than get inodes on trust.
  std::shared_ptr<const LookupCounts::Count> lookups_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
