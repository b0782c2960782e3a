// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace s3rdmafs::fakes {

/// A limit of the process, as RLIMIT_MEMLOCK, for as long as it lives: never above what it was. For
/// a test's one thread.
class ResourceLimit {
 public:
  ResourceLimit(int resource, rlim_t most) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit wanted{.rlim_cur = std::min(most, before_.rlim_cur), .rlim_max = before_.rlim_max};
    ::setrlimit(resource_, &wanted);
  }
  ~ResourceLimit() { ::setrlimit(resource_, &before_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  const int resource_;
  rlimit before_{};
};

}  // namespace s3rdmafs::fakes
