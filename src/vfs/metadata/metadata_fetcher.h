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
/// files side by side, and once for all lookups of a file. The answers go into the name cache.
/// Thread-safe.
class MetadataFetcher : public std::enable_shared_from_this<MetadataFetcher> {
 public:
  /// Borrows the store, the clock and the metrics.
  /// @param requests_max  at a time; the others wait here
  MetadataFetcher(s3::ObjectStore& store, const Clock& clock, std::shared_ptr<NameCache> names,
                  std::size_t requests_max, metrics::Registry& metrics);

  /// Whether a node is a version without its attributes.
  [[nodiscard]] static bool is_wanting(const Node& node) {
    return !node.is_directory && !node.written && !node.posix;
  }
  /// The name cache's answer for a listed file, with metadata: of this version, or of a newer one.
  [[nodiscard]] std::optional<NameAnswer> known(const Node& listed) const;

  /// The version that the key of a listed file has now, or had after the listing, with its
  /// metadata. The latest deadline counts of the calls that wait for the request when it is sent.
  /// Errors: kNotFound, the store's.
  void get(const Node& listed, SeenAt listed_at, Deadline deadline, Done<NameAnswer> done);
  /// Gives the same names, each with its metadata unless the store did not answer for it.
  void fill(std::vector<ListedName> names, Deadline deadline, Done<std::vector<ListedName>> done);
  /// The same for names that are probably wanted soon, after all that is waited for; does nothing
  /// while many requests wait.
  void fill_ahead(const std::vector<ListedName>& names, Deadline deadline);
  /// The same for files that the name cache knows from a listing.
  void fill_ahead(const std::vector<s3::ObjectInfo>& files, Deadline deadline);

  /// This mount changed the key: later calls do not join the requests under way.
  void invalidate(const std::string& key);

 private:
  enum class Urgency { kGuess, kWaitedFor };
  /// Its members change while mutex_ is held.
  struct Request {
    Node listed;
    Deadline deadline;
    Urgency urgency;
    std::optional<SeenAt> sent_at = {};
    std::vector<Done<NameAnswer>> waiting = {};
  };
  struct Filling;

  void ask(const Node& listed, SeenAt listed_at, Deadline deadline, Urgency urgency,
           Done<NameAnswer> done);
  void guess(const Node& listed, SeenAt listed_at, Deadline deadline);
  [[nodiscard]] bool has_room_for_guesses();
  std::shared_ptr<Request> take_next() REQUIRES(mutex_);
  void advance();
  void send(const std::shared_ptr<Request>& request, Deadline deadline, SeenAt sent_at);
  void finish(const std::shared_ptr<Request>& request, Result<NameAnswer> outcome);

  s3::ObjectStore& store_;
  const Clock& clock_;
  const std::shared_ptr<NameCache> names_;
  const std::size_t requests_max_;
  metrics::Counter& fetched_;

  using Queue = std::deque<std::shared_ptr<Request>>;
  Mutex mutex_;  // leaf
  /// The newest of each key, without those that were invalidated.
  std::unordered_map<std::string, std::shared_ptr<Request>> newest_ GUARDED_BY(mutex_);
  /// A guess that came to be waited for is in both; it is sent once.
  Queue waited_for_ GUARDED_BY(mutex_);
  Queue guesses_ GUARDED_BY(mutex_);
  std::size_t under_way_ GUARDED_BY(mutex_) = 0;
  bool advancing_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::vfs
