// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fakes {

/// A cache that holds no bytes: each read is one GET of the store, which may hold or fail it.
/// Thread-safe.
class FakeReadCache final : public cache::ReadCache {
 public:
  explicit FakeReadCache(s3::ObjectStore& store) : store_(store) {}

  [[nodiscard]] std::shared_ptr<cache::ObjectReader> open(cache::ObjectVersion version) override;
  void prefetch(cache::ObjectVersion version) override;
  void note_answer(std::chrono::nanoseconds took) override { newest_answer_ = took; }

  /// Keys of the versions that prefetch() was called for.
  [[nodiscard]] std::vector<std::string> prefetched() const;
  /// The time that note_answer() was told last.
  [[nodiscard]] std::chrono::nanoseconds newest_answer() const { return newest_answer_; }
  /// The number of readers that exist now.
  [[nodiscard]] int readers() const { return *readers_; }
  /// Calls of open() so far.
  [[nodiscard]] int opens() const { return opens_; }

 private:
  s3::ObjectStore& store_;
  // Shared, so that a reader that outlives the cache does not write into freed memory.
  std::shared_ptr<std::atomic<int>> readers_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<int> opens_{0};
  std::atomic<std::chrono::nanoseconds> newest_answer_{std::chrono::nanoseconds(0)};
  mutable Mutex mutex_;
  std::vector<std::string> prefetched_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::fakes
