// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "s3/object_store.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// A file that this mount has open and may have changed, as it is now.
struct LiveFile {
  std::uint64_t size_bytes = 0;
  std::chrono::system_clock::time_point modified;
  std::chrono::system_clock::time_point changed;     ///< also by chmod(2) and the like
  std::shared_ptr<const s3::UserMetadata> metadata;  ///< to be stored with it; never null
};

/// Knows the inodes whose files are newer than what the store said of them. Thread-safe.
class LiveFiles {
 public:
  virtual ~LiveFiles() = default;
  /// Nothing: the inode is as its node says. Calls nothing of vfs/names.
  [[nodiscard]] virtual std::optional<LiveFile> live(Ino ino) const = 0;
};

}  // namespace s3rdmafs::vfs
