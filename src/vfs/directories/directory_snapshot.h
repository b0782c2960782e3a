// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/directories/directory_order.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/directories/name_store.h"
#include "vfs/directories/pages/listing_pages.h"
#include "vfs/directories/sibling_order.h"
#include "vfs/directories/snapshot_budget.h"
#include "vfs/names/name_cache.h"

namespace s3rdmafs::vfs {

/// The names of a directory as open handles read them. It grows by a page of the listing when a
/// read goes beyond its end, and by a page ahead where a reader has gone beyond the first entries.
/// Offsets are indices in it: 0 is ".", 1 is "..". Thread-safe.
class DirectorySnapshot : public std::enable_shared_from_this<DirectorySnapshot> {
 public:
  /// The needs of a snapshot. A page ahead may come when nothing of the mount's file
  /// system is left but this.
  struct Context {
    s3::ObjectStore& store;  // this and the next two are borrowed
    const Clock& clock;
    metrics::Counter& hidden_keys;
    std::shared_ptr<NameCache> names;       ///< is fed with every name listed
    std::shared_ptr<DirectoryOrder> order;  ///< so are these two
    std::shared_ptr<SiblingOrder> siblings;
    std::shared_ptr<SnapshotBudget> budget;
    std::shared_ptr<ListingPages::Servers> servers;
  };

  DirectorySnapshot(Context context, std::string prefix, const std::string& root_prefix);
  ~DirectorySnapshot();
  DirectorySnapshot(const DirectorySnapshot&) = delete;
  DirectorySnapshot& operator=(const DirectorySnapshot&) = delete;

  /// Up to `names_max` names from `offset` on, at least one unless the directory ends there. "."
  /// and
  /// ".." come with the names of the first page, so that a directory that cannot be listed fails at
  /// once. After a failure the next read fetches the same page again. Errors: the store's;
  /// kProtocol (the listing has no end); kNoMemory (the budget of all snapshots is spent).
  void read(std::uint64_t offset, std::size_t names_max, Deadline deadline,
            Done<std::vector<ListedName>> done);

  /// Lists the first page, unless that has begun. False: it has.
  bool begin(Deadline deadline);

  /// The names from an offset on that are listed by now, `names_max` at most.
  [[nodiscard]] std::vector<ListedName> listed(std::uint64_t offset, std::size_t names_max) const;

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
  /// The yield of one page.
  struct Added {
    Names names;
    std::size_t position = 0;  ///< of the first in the listing
    std::uint64_t hidden = 0;
  };
  struct Answers {
    std::vector<std::pair<Done<Names>, Names>> readers;
    std::optional<Deadline> next_deadline;  ///< by when to fetch the next page, if at all
  };

  /// Names listed, the dots included.
  [[nodiscard]] std::size_t size() const REQUIRES(mutex_);
  [[nodiscard]] ListedName name_at(std::uint64_t offset) const REQUIRES(mutex_);
  [[nodiscard]] bool can_serve(std::uint64_t offset) const REQUIRES(mutex_);
  [[nodiscard]] bool wants_next_page(std::uint64_t offset) const REQUIRES(mutex_);
  [[nodiscard]] Names slice(std::uint64_t offset, std::size_t names_max) const REQUIRES(mutex_);
  void fetch_page(Deadline deadline);
  Result<void> pass(const s3::ListPage& page);
  void on_page(SeenAt seen_at, s3::ListPage page);
  [[nodiscard]] Added add(s3::ListPage page, SeenAt seen_at) REQUIRES(mutex_);
  /// Takes the readers that can be answered out of the queue, and marks whether the next page is
  /// fetched.
  [[nodiscard]] Answers take_answers() REQUIRES(mutex_);
  void stop(const Error& error);
  void on_failure(const Error& error);
  void keep(std::span<const ListedName> added) REQUIRES(mutex_);

  const Context context_;
  const std::string prefix_;
  const std::array<ListedName, 2> dots_;  ///< "." and ".."
  const std::shared_ptr<ListingPages> pages_;

  mutable Mutex mutex_;                 // lock order 2c
  NameStore names_ GUARDED_BY(mutex_);  ///< its bytes are taken from the budget
  std::optional<SeenAt> first_asked_ GUARDED_BY(mutex_);
  bool has_failed_ GUARDED_BY(mutex_) = false;
  std::size_t newest_page_ GUARDED_BY(mutex_) = 0;  ///< the offset of its first name
  DirectoryListing listing_ GUARDED_BY(mutex_);
  ListingCursor cursor_ GUARDED_BY(mutex_);
  bool fetching_ GUARDED_BY(mutex_) = false;
  bool is_ahead_ GUARDED_BY(mutex_) = false;       ///< fetching, and no reader waited at its start
  std::deque<Reader> waiting_ GUARDED_BY(mutex_);  ///< not empty only while fetching
};

}  // namespace s3rdmafs::vfs
