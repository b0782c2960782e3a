// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/directories/directory_order.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/directories/snapshot_budget.h"
#include "vfs/names/name_cache.h"

namespace s3rdmafs::vfs {

/// The names of a directory as open handles read them: it grows by a page of the listing when
/// somebody reads beyond its end, and by a page ahead where somebody reads on from the first.
/// Offsets are places in it: 0 is ".", 1 is "..". Thread-safe.
class DirectorySnapshot : public std::enable_shared_from_this<DirectorySnapshot> {
 public:
  /// What a snapshot needs of its mount; borrowed but for the budget.
  struct Context {
    s3::ObjectStore& store;
    const Clock& clock;
    NameCache& names;       ///< is fed with every name listed
    DirectoryOrder& order;  ///< and so is this
    metrics::Counter& hidden_keys;
    std::shared_ptr<SnapshotBudget> budget;
    std::weak_ptr<const void> owner = {};  ///< of the names and the order
  };

  DirectorySnapshot(Context context, std::string prefix, const std::string& root_prefix);
  ~DirectorySnapshot();
  DirectorySnapshot(const DirectorySnapshot&) = delete;
  DirectorySnapshot& operator=(const DirectorySnapshot&) = delete;

  /// Up to `names_max` names from `offset` on, at least one unless the directory ends there. The
  /// names of the first page come with "." and "..", so that a directory that cannot be listed
  /// fails at once. After a failure the next read asks for the same page again. Errors: the
  /// store's; kProtocol (the listing has no end); kNoMemory (the budget of all snapshots is spent).
  void read(std::uint64_t offset, std::size_t names_max, Deadline deadline,
            Done<std::vector<ListedName>> done);

  /// The name at a place that read() has given out.
  [[nodiscard]] std::optional<ListedName> at(std::uint64_t offset) const;

  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// Whether its first page was asked for within this time, or not yet, and no page failed.
  [[nodiscard]] bool is_fresh(std::chrono::milliseconds fresh_for) const;

 private:
  using Names = std::vector<ListedName>;
  struct Reader {
    std::uint64_t offset;
    std::size_t names_max;
    Deadline deadline;
    Done<Names> done;
  };

  [[nodiscard]] bool can_serve(std::uint64_t offset) const REQUIRES(mutex_);
  [[nodiscard]] bool wants_next_page(std::uint64_t offset) const REQUIRES(mutex_);
  [[nodiscard]] Names slice(std::uint64_t offset, std::size_t names_max) const REQUIRES(mutex_);
  void fetch_page(Deadline deadline);
  Result<void> pass(const s3::ListPage& page);
  void on_page(SeenAt seen_at, s3::ListPage page);
  void stop(const Error& error);
  void on_failure(const Error& error);
  void keep(std::span<const ListedName> added) REQUIRES(mutex_);

  const Context context_;
  const std::string prefix_;

  mutable Mutex mutex_;                              // lock order 2c
  std::deque<ListedName> names_ GUARDED_BY(mutex_);  ///< a deque: it never needs room twice
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;       ///< what the budget was told of
  std::optional<SeenAt> first_asked_ GUARDED_BY(mutex_);
  bool has_failed_ GUARDED_BY(mutex_) = false;
  std::size_t newest_page_ GUARDED_BY(mutex_) = 0;  ///< where in names_ it begins
  DirectoryListing listing_ GUARDED_BY(mutex_);
  ListingCursor cursor_ GUARDED_BY(mutex_);
  bool fetching_ GUARDED_BY(mutex_) = false;
  bool is_ahead_ GUARDED_BY(mutex_) = false;       ///< fetching, and nobody waited when it began
  std::deque<Reader> waiting_ GUARDED_BY(mutex_);  ///< not empty only while fetching
};

}  // namespace s3rdmafs::vfs
