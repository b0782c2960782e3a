// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// Names that the kernel was just told to be absent. It looks a name up before it creates it, in
/// the same system call, so the creation may believe that answer instead of asking the store again.
/// Bounded. Thread-safe.
class AbsentNames {
 public:
  explicit AbsentNames(const Clock& clock) : clock_(clock) {}

  /// A lookup by the kernel got this answer. Remembers an absence of which the store was asked now.
  void told(const std::string& key, const NameAnswer& answer);
  /// The answer, if it was given just now. Once: the next creation is another system call, which
  /// has a lookup of its own.
  [[nodiscard]] std::optional<NameAnswer> take(const std::string& key);
  /// The name may be there by now.
  void forget(const std::string& key);

 private:
  const Clock& clock_;
  Mutex mutex_;  // leaf
  std::unordered_map<std::string, SeenAt> told_at_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
