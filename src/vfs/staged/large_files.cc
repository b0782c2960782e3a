// SPDX-License-Identifier: Apache-2.0
#include "vfs/staged/large_files.h"

#include <cstddef>

namespace s3rdmafs::vfs {
namespace {

// Few jobs write large files into more; then the kernel tries again in all of them.
constexpr std::size_t kLargeDirectoriesMax = 1000;

std::string_view directory_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

}  // namespace

void LargeFiles::saw(std::string_view key, std::uint64_t size_bytes) {
  if (size_bytes <= large_bytes_) return;
  const MutexLock lock(mutex_);
  if (directories_.size() >= kLargeDirectoriesMax) directories_.clear();
  directories_.emplace(directory_of(key));
}

bool LargeFiles::are_expected_beside(std::string_view key) const {
  const MutexLock lock(mutex_);
  return directories_.contains(directory_of(key));
}

}  // namespace s3rdmafs::vfs
