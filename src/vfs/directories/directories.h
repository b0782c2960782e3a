// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/ahead_snapshots.h"
#include "vfs/directories/directory_order.h"
#include "vfs/directories/directory_preload.h"
#include "vfs/directories/directory_snapshot.h"
#include "vfs/directories/inodes/lookup_counts.h"
#include "vfs/directories/shared_snapshots.h"
#include "vfs/directories/sibling_order.h"
#include "vfs/directories/snapshot_budget.h"
#include "vfs/names/name_cache.h"

namespace s3rdmafs::vfs {

/// Everything that this mount lists: the snapshots that open directories read, and the listings
/// that it asks for on its own. Owns the order of what is listed, and feeds the name cache.
/// Shared: a listing under way keeps it alive. Thread-safe.
class Directories : public std::enable_shared_from_this<Directories> {
 public:
  struct Options {
    std::string root_prefix;          ///< empty or ending in "/"
    std::chrono::milliseconds ttl{};  ///< for how long a listing is shared; 0: no name is kept
    std::uint64_t listing_bytes_max = 0;
    std::chrono::milliseconds call_time{30'000};  ///< that a read of a directory has
  };

  /// Borrows all but the name cache and the options.
  Directories(s3::ObjectStore& store, const Clock& clock, std::shared_ptr<NameCache> names,
              metrics::Registry& metrics, Options options);

  /// The cache that the listings feed.
  [[nodiscard]] const std::shared_ptr<NameCache>& names() const { return names_; }

  /// The snapshot that a new handle of the directory `prefix` reads.
  [[nodiscard]] std::shared_ptr<DirectorySnapshot> open(const std::string& prefix);
  /// The snapshot that a handle reads after it was rewound: as rewinddir(3) promises, the state
  /// now.
  [[nodiscard]] std::shared_ptr<DirectorySnapshot> reopen(const std::string& prefix);
  /// The directory changed: the next open of it lists it again.
  void forget(const std::string& prefix);
  /// Lookups that found a name, of directories with more names than get inodes on trust.
  [[nodiscard]] LookupCounts& lookups() { return lookups_; }

  /// A lookup found this key. Where the names of one directory are asked for one by one, its
  /// listing is fetched into the name cache; see directory_preload.h.
  /// @param was_asked  whether the lookup had to ask the store
  void on_lookup(const std::string& key, bool was_asked, Deadline deadline);
  /// All names of a directory came with a lookup of it; the name cache has them.
  void on_listed(const std::string& prefix, std::span<const ListedName> names) {
    order_->on_listed(prefix, /*position=*/0, names);
  }
  /// The attributes of a listed file are asked for. Returns the files to ask for besides; see
  /// directory_order.h.
  [[nodiscard]] std::vector<s3::ObjectInfo> on_stat(const std::string& key) {
    return order_->on_stat(key);
  }
  /// A file is opened. Returns the files to fetch now; see directory_order.h. The first large file
  /// of a directory may have its listing fetched into the name cache.
  [[nodiscard]] std::vector<s3::ObjectInfo> on_open(const s3::ObjectInfo& object,
                                                    Deadline deadline);

 private:
  [[nodiscard]] DirectorySnapshot::Context snapshot_context() const;
  /// Gets this page of a preload, and those that it leads to; each has so much time.
  void get_page(DirectoryPreload::Step step, std::chrono::steady_clock::duration time);
  /// A page of a preload has come. Returns the page to get now, if any.
  std::optional<DirectoryPreload::Step> on_page(const DirectoryPreload::Step& step,
                                                ListingPages::Page page);
  /// Lists the first page of a directory that is probably opened soon.
  void list_ahead(const std::string& prefix);

  s3::ObjectStore& store_;
  const Clock& clock_;
  const Options options_;
  const std::shared_ptr<NameCache> names_;
  const std::shared_ptr<DirectoryOrder> order_;
  const std::shared_ptr<SiblingOrder> siblings_;
  const std::shared_ptr<SnapshotBudget> budget_;
  const std::shared_ptr<ListingPages::Servers> servers_ = std::make_shared<ListingPages::Servers>();
  metrics::Counter& hidden_keys_;
  metrics::Counter& listed_ahead_;
  DirectoryPreload preload_;
  SharedSnapshots snapshots_;
  AheadSnapshots ahead_;
  LookupCounts lookups_;
};

}  // namespace s3rdmafs::vfs
