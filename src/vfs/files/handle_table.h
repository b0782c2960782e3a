// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>

#include "s3rdmafs/base/mutex.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

class DirectoryHandle;
class WrittenFile;
struct OpenVersion;
struct StagedHandle;

/// Everything that the kernel holds open, by number: directories, versions that are read, and files
/// that are written, sequentially or staged. A number is never used twice in one mount, of any
/// kind. The caller names the kind it expects; a number of another kind is not found. A found entry
/// stays alive while the finder holds it, released or not. Thread-safe.
class HandleTable {
 public:
  /// The numbers have that of the volume in them (vfs/types.h).
  explicit HandleTable(Volume volume = 0) : last_(number_in(volume, 0)) {}

  /// `Kind` is DirectoryHandle, const OpenVersion, WrittenFile or StagedHandle, here and below.
  template <class Kind>
  [[nodiscard]] std::uint64_t add(std::shared_ptr<Kind> opened) {
    const MutexLock lock(mutex_);
    opened_.emplace(++last_, std::move(opened));
    return last_;
  }

  /// Null for a number that is not in use, or not for this kind.
  template <class Kind>
  [[nodiscard]] std::shared_ptr<Kind> find(std::uint64_t handle) const {
    const MutexLock lock(mutex_);
    const auto found = opened_.find(handle);
    return found == opened_.end() ? nullptr : as<Kind>(found->second);
  }

  /// As find(); the number is no longer in use where this finds something.
  template <class Kind>
  std::shared_ptr<Kind> remove(std::uint64_t handle) {
    const MutexLock lock(mutex_);
    const auto found = opened_.find(handle);
    if (found == opened_.end()) return nullptr;
    std::shared_ptr<Kind> removed = as<Kind>(found->second);
    if (removed) opened_.erase(found);
    return removed;
  }

 private:
  using Opened = std::variant<std::shared_ptr<DirectoryHandle>, std::shared_ptr<const OpenVersion>,
                              std::shared_ptr<WrittenFile>, std::shared_ptr<StagedHandle>>;

  template <class Kind>
  [[nodiscard]] static std::shared_ptr<Kind> as(const Opened& opened) {
    const auto* const kind = std::get_if<std::shared_ptr<Kind>>(&opened);
    return kind == nullptr ? nullptr : *kind;
  }

  mutable Mutex mutex_;  // leaf
  std::uint64_t last_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Opened> opened_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
