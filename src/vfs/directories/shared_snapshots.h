// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_snapshot.h"

namespace s3rdmafs::vfs {

/// The newest snapshot of each directory that is open. An open of a directory whose listing is
/// fresh reads the same snapshot, so that many handles of a directory cost one listing and its
/// memory once. Owns none of them: a snapshot ends with its last handle. Thread-safe.
class SharedSnapshots {
 public:
  /// @param fresh_for  the age up to which a listing is shared, counted from its first request
  explicit SharedSnapshots(std::chrono::milliseconds fresh_for) : fresh_for_(fresh_for) {}

  /// The snapshot that a new handle of the directory `prefix` reads: a fresh one, or else a new
  /// one.
  [[nodiscard]] std::shared_ptr<DirectorySnapshot> get(const DirectorySnapshot::Context& context,
                                                       const std::string& prefix,
                                                       const std::string& root_prefix)
      EXCLUDES(mutex_);

  /// The snapshot that a handle reads which was rewound, or which reads from the beginning after a
  /// failure: nothing that was listed before.
  [[nodiscard]] std::shared_ptr<DirectorySnapshot> renew(const DirectorySnapshot::Context& context,
                                                         const std::string& prefix,
                                                         const std::string& root_prefix)
      EXCLUDES(mutex_);

  /// The directory changed: the next open of it lists it again.
  void forget(const std::string& prefix) EXCLUDES(mutex_);

 private:
  std::shared_ptr<DirectorySnapshot> get_within(std::chrono::milliseconds fresh_for,
                                                const DirectorySnapshot::Context& context,
                                                const std::string& prefix,
                                                const std::string& root_prefix) EXCLUDES(mutex_);
  void drop_ended() REQUIRES(mutex_);

  const std::chrono::milliseconds fresh_for_;
  Mutex mutex_;  // lock order 2b
  std::unordered_map<std::string, std::weak_ptr<DirectorySnapshot>> newest_
      GUARDED_BY(mutex_);                              // by prefix
  std::size_t drop_ended_at_ GUARDED_BY(mutex_) = 64;  // entries
};

}  // namespace s3rdmafs::vfs
