// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// Numbers for things the kernel holds open. A number is never used twice in one mount. What is
/// found stays alive while the finder holds it, released or not. Thread-safe.
template <class T>
class HandleTable {
 public:
  std::uint64_t add(std::shared_ptr<T> thing) {
    const MutexLock lock(mutex_);
    things_.emplace(++last_, std::move(thing));
    return last_;
  }

  /// Null for a number that is not in use.
  [[nodiscard]] std::shared_ptr<T> find(std::uint64_t handle) const {
    const MutexLock lock(mutex_);
    const auto found = things_.find(handle);
    return found == things_.end() ? nullptr : found->second;
  }

  /// Null for a number that is not in use.
  std::shared_ptr<T> remove(std::uint64_t handle) {
    const MutexLock lock(mutex_);
    auto node = things_.extract(handle);
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  mutable Mutex mutex_;  // leaf
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> things_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
