// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::rdma::verbs {

/// The key of one registration, for tokens, while the registration lives. Thread-safe.
class TokenKey {
 public:
  struct Value {
    std::uint64_t address = 0;  ///< of the region's first byte, as servers know it
    std::uint32_t rkey = 0;
  };

  /// Nothing while there is no registration.
  [[nodiscard]] std::optional<Value> get() const {
    const MutexLock lock(mutex_);
    return value_;
  }
  void set(Value value) {
    const MutexLock lock(mutex_);
    value_ = value;
  }
  void clear() {
    const MutexLock lock(mutex_);
    value_.reset();
  }

 private:
  mutable Mutex mutex_;  // leaf
  std::optional<Value> value_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::rdma::verbs
