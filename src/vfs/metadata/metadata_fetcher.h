// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/names/name_cache.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// Asks for the user metadata of files that a listing has shown without it: HeadObject, for many
/// files side by side, and once for all who ask for a file. The answers go into the name cache.
/// Thread-safe.
class MetadataFetcher : public std::enable_shared_from_this<MetadataFetcher> {
 public:
  /// Borrows the store, the clock and the metrics.
  MetadataFetcher(s3::ObjectStore& store, const Clock& clock, std::shared_ptr<NameCache> names,
                  metrics::Registry& metrics);

  /// Whether a node is a version without its metadata.
  [[nodiscard]] static bool is_wanting(const Node& node) {
    return !node.is_directory && !node.written && !node.object.metadata;
  }
  /// The name cache's answer for a listed file, with metadata: of this version, or of a newer one.
  [[nodiscard]] std::optional<NameAnswer> known(const Node& listed) const;

  /// The version that the key of a listed file has now, with its metadata. The deadline of the call
  /// that causes the request counts. Errors: kNotFound, the store's.
  void get(const Node& listed, Deadline deadline, Done<NameAnswer> done);
  /// Gives the same names, each with its metadata unless the store did not answer for it.
  void fill(std::vector<ListedName> names, Deadline deadline, Done<std::vector<ListedName>> done);
  /// The same for names that are probably wanted soon; does nothing while many requests wait.
  void fill_ahead(const std::vector<ListedName>& names, Deadline deadline);

  /// This mount changed the key: later calls do not join the requests under way.
  void invalidate(const std::string& key);

 private:
  using Waiting = std::vector<Done<NameAnswer>>;
  struct Request {
    Node listed;
    std::shared_ptr<Waiting> waiting;
    Deadline deadline;
  };
  struct Filling;

  void advance();
  void send(Request request);
  void finish(const Request& request, Result<NameAnswer> outcome);

  s3::ObjectStore& store_;
  const Clock& clock_;
  const std::shared_ptr<NameCache> names_;
  metrics::Counter& fetched_;

  Mutex mutex_;  // leaf
  /// Without those that were invalidated, which only their own request still knows.
  std::unordered_map<std::string, std::shared_ptr<Waiting>> waiting_ GUARDED_BY(mutex_);
  std::deque<Request> queue_ GUARDED_BY(mutex_);
  std::size_t under_way_ GUARDED_BY(mutex_) = 0;
  bool advancing_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::vfs
