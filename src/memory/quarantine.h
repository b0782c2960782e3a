// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "memory/arena.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::memory {

/// Renews the regions of slabs that a late transfer may still reach (block_cache.cc), one
/// after the other, on a thread of its own: fence() waits for the server, and completions must not
/// wait. A slab whose region cannot be renewed now is tried again every second and stays out of
/// use.
class Quarantine {
 public:
  /// @param thread_name  at most 15 characters
  /// @param on_fenced  called on the thread, for each slab that is safe again
  /// @param on_tick     called on the thread about once a second, whatever happens
  Quarantine(Arena& arena, std::string thread_name,
             std::function<void(std::uint32_t slab)> on_fenced, std::function<void()> on_tick);
  ~Quarantine();

  /// Takes a slab on which no transfer of ours is under way any more.
  void fence_later(std::uint32_t slab) EXCLUDES(mutex_);

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] std::set<std::uint32_t> wait_for_work() EXCLUDES(mutex_);

  Arena& arena_;
  const std::string thread_name_;
  const std::function<void(std::uint32_t)> on_fenced_;
  const std::function<void()> on_tick_;

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::set<std::uint32_t> waiting_ GUARDED_BY(mutex_);
  bool added_ GUARDED_BY(mutex_) = false;

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace s3rdmafs::memory
