// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cache/whole/object_cache.h"
#include "daemon/resident/find_objects.h"
#include "daemon/resident/keep_objects.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// Makes the objects of the mount file's [[resident]] tables resident, in the background, and keeps
/// them so: what failed is tried again, and every few minutes it looks for objects that came, were
/// replaced or are gone. Runs until destroyed.
class ResidentKeeper {
 public:
  /// Borrows the cache and what the bucket borrows. @param globs  of the mount file
  ResidentKeeper(Bucket bucket, cache::ObjectCache& cache, metrics::Registry& metrics,
                 std::vector<std::string> globs);

  /// Once, when the mount is ready.
  void start();
  /// The round under way ends early, and no other begins.
  void stop() { thread_.request_stop(); }

 private:
  void run(const std::stop_token& stop);
  /// False where something failed that may work when it is tried again.
  [[nodiscard]] bool keep_all(const std::stop_token& stop);
  void report(std::size_t objects, const KeepOutcome& outcome);

  const Bucket bucket_;
  cache::ObjectCache& cache_;
  const std::vector<std::string> globs_;
  metrics::Gauge& wanted_;
  metrics::Gauge& resident_;
  metrics::Gauge& no_room_;
  metrics::Counter& failures_;
  std::set<std::string> keys_;  // that the last round found; of the thread
  std::string last_report_;     // so that the log says what changed; of the thread
  std::jthread thread_;         // last: ends before what it uses
};

}  // namespace s3rdmafs::daemon
