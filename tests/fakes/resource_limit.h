// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace s3rdmafs::fakes {

/// The process's limit on locked memory (RLIMIT_MEMLOCK) for as long as it lives: never above what
/// it was. For a test's one thread.
class LockedMemoryLimit {
 public:
  explicit LockedMemoryLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit wanted{.rlim_cur = std::min(bytes, before_.rlim_cur),
                        .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_MEMLOCK, &wanted);
  }
  ~LockedMemoryLimit() { ::setrlimit(RLIMIT_MEMLOCK, &before_); }
  LockedMemoryLimit(const LockedMemoryLimit&) = delete;
  LockedMemoryLimit& operator=(const LockedMemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace s3rdmafs::fakes
