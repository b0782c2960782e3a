// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/names/name_cache.h"
#include "vfs/names/node.h"
#include "vfs/names/probe.h"

namespace s3rdmafs::vfs {

/// Finds what a key stands for: asks the name cache, then the store (see probe.h). The names that
/// come with a directory are kept as well. Lookups of one
/// key while the store is being asked share its answer, and one that follows a long wait in vain
/// shares its failure, if the key was found before. Thread-safe.
class NameResolver : public std::enable_shared_from_this<NameResolver> {
 public:
  /// All names of a directory, which came with its lookup.
  using OnListed =
      std::function<void(const std::string& prefix, std::span<const ListedName> names)>;

  /// Borrows the first four. `on_listed` may be empty.
  NameResolver(s3::ObjectStore& store, const Clock& clock, NameCache& names,
               metrics::Registry& metrics, OnListed on_listed = {});

  /// The deadline of the call that starts the requests counts: calls that join it came later, and
  /// get its answer, or its kTimedOut, by then.
  /// @param key  without a last "/", not empty
  void resolve(const std::string& key, Deadline deadline, Done<NameAnswer> done);

  /// As resolve(), but does not believe the name cache.
  void ask(const std::string& key, Deadline deadline, Done<NameAnswer> done);

  /// A lookup has failed that asked another part since then: if it took long, so does the lookup
  /// that the kernel makes at once.
  void remember_failure(const std::string& key, const Error& error, SeenAt asked_at);

  /// This mount changed the key: later calls do not join the ones under way.
  void invalidate(const std::string& key);

 private:
  using Waiting = std::vector<Done<NameAnswer>>;
  struct Failure {
    Error error;
    SeenAt failed_at;
  };
  [[nodiscard]] std::optional<Error> failed_just_now(const std::string& key);
  /// Keeps the names that came with a directory.
  void keep(const std::string& prefix, s3::ListPage page, SeenAt seen_at);
  void finish(const std::string& key, const std::shared_ptr<Waiting>& waiting, SeenAt seen_at,
              Result<Found> outcome);

  s3::ObjectStore& store_;
  const Clock& clock_;
  NameCache& names_;
  const OnListed on_listed_;
  metrics::Counter& from_cache_;
  metrics::Counter& from_store_;

  Mutex mutex_;  // leaf
  /// Without those that were invalidated, which only their own request still knows.
  std::unordered_map<std::string, std::shared_ptr<Waiting>> waiting_ GUARDED_BY(mutex_);
  /// The newest that took long; some are too old to count.
  std::unordered_map<std::string, Failure> failures_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
