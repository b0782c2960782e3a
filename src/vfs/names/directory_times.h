// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// When this mount last changed a name in each directory, which is what stat(2) shows of it: S3
/// keeps no time for a directory, and interpreters look for new modules only where the time has
/// changed. Thread-safe.
class DirectoryTimes {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// @param mounted_at  of directories that this mount has not changed
  explicit DirectoryTimes(Time mounted_at) : unchanged_(mounted_at) {}

  /// @param prefix  of the directory
  [[nodiscard]] Time of(const std::string& prefix) const;
  /// The time of a directory never goes back, and grows with every change.
  void on_changed(const std::string& prefix, Time now);

 private:
  mutable Mutex mutex_;  // leaf
  Time unchanged_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Time> changed_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
