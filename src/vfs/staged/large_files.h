// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// The directories in which this mount has seen files that take more than half of the staging area.
/// The next file there is likely to be as large, and what the kernel writes by itself cannot be
/// larger than the area: its writes do not wait for room. Thread-safe.
class LargeFiles {
 public:
  /// @param room_bytes  of the staging area
  explicit LargeFiles(std::uint64_t room_bytes) : large_bytes_(room_bytes / 2) {}

  /// A file has this size, or had it before it was truncated.
  void saw(std::string_view key, std::uint64_t size_bytes);
  /// Whether a file of this key may become as large.
  [[nodiscard]] bool are_expected_beside(std::string_view key) const;

 private:
  const std::uint64_t large_bytes_;
  mutable Mutex mutex_;  // leaf
  std::set<std::string, std::less<>> directories_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
