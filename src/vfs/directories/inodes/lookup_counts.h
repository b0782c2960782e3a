// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "s3rdmafs/base/mutex.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

/// How many names were looked up in the directories that a caller watches. Thread-safe.
class LookupCounts {
 public:
  using Count = std::atomic<std::uint64_t>;

  /// The directory is watched for as long as the count is held.
  [[nodiscard]] std::shared_ptr<const Count> watch(const std::string& prefix) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::erase_if(counts_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<Count>& kept = counts_[prefix];
    std::shared_ptr<Count> count = kept.lock();
    if (!count) kept = count = std::make_shared<Count>(0);
    watched_.store(counts_.size(), std::memory_order_relaxed);
    return count;
  }

  void on_lookup(std::string_view key) EXCLUDES(mutex_) {
    if (watched_.load(std::memory_order_relaxed) == 0) return;
    const MutexLock lock(mutex_);
    const auto found = counts_.find(std::string(prefix_of(key)));
    if (found == counts_.end()) return;
    if (const auto count = found->second.lock()) {
      count->fetch_add(1, std::memory_order_relaxed);
      return;
    }
    counts_.erase(found);
    watched_.store(counts_.size(), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::size_t> watched_ = 0;
  Mutex mutex_;                                                                      // leaf
  std::unordered_map<std::string, std::weak_ptr<Count>> counts_ GUARDED_BY(mutex_);  // by prefix
};

}  // namespace s3rdmafs::vfs
