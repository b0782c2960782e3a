// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cache/whole/object_cache.h"
#include "daemon/resident/find_objects.h"
#include "daemon/resident/keep_objects.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// Makes the objects of the mount file's [[resident]] tables resident, on a thread of its own, and
/// keeps them resident: failures are retried after 2 s, then half as often each time; every 5
/// minutes it looks for objects that were added, replaced or removed. Runs until destroyed.
class ResidentKeeper {
 public:
  /// Borrows the cache, the registry, and the store and clock of the bucket.
  /// @param globs  of the mount file
  ResidentKeeper(Bucket bucket, cache::ObjectCache& cache, metrics::Registry& metrics,
                 std::vector<std::string> globs);

  /// Starts the thread. At most once, when the mount is ready.
  void start();
  /// Other globs, for a round that begins now. Objects that none of them names are unpinned. Any
  /// thread.
  void set_globs(std::vector<std::string> globs) EXCLUDES(mutex_);
  /// Ends the round under way early, and begins no other. Does not wait. Any thread.
  void stop() { thread_.request_stop(); }

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] std::vector<std::string> take_globs() EXCLUDES(mutex_);
  [[nodiscard]] bool has_new_globs() EXCLUDES(mutex_);
  void pause(const std::stop_token& stop, std::chrono::seconds duration);
  /// One round over all globs. False where a failure is worth a retry.
  [[nodiscard]] bool keep_all(const std::stop_token& stop);
  void report(std::size_t objects, const KeepOutcome& outcome);

  const Bucket bucket_;
  cache::ObjectCache& cache_;
  Mutex mutex_;  // leaf
  std::vector<std::string> globs_ GUARDED_BY(mutex_);
  bool are_globs_new_ GUARDED_BY(mutex_) = true;
  metrics::Gauge& wanted_;
  metrics::Gauge& resident_;
  metrics::Gauge& no_room_;
  metrics::Counter& failures_;
  std::set<std::string> keys_;  // found by the last round; the thread's own
  std::string last_report_;     // logged again only when it changes; the thread's own
  std::jthread thread_;         // last: ends before the members it uses
};

}  // namespace s3rdmafs::daemon
