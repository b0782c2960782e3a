// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/directories/pages/listing_pages.h"

namespace s3rdmafs::vfs {

/// Decides when to list a directory whose names are looked up one by one, as by loaders that take
/// their paths from a manifest and never list. A name costs two requests (probe.h); a page of a
/// listing costs one for a thousand names. Pure policy, no network: the caller sends the requests.
/// Thread-safe.
class DirectoryPreload {
 public:
  /// Names that the store was asked for, for each page. So listing costs at most a sixteenth of
  /// what the lookups themselves cost, however little it helps.
  static constexpr std::size_t kNamesAPage = 16;
  /// The pages of a directory that are fetched one after the other. Those after them are fetched
  /// side by side, and paid for together (ListingPages::kSideBySide).
  static constexpr std::uint64_t kPagesAlone = 2;
  /// Pages of all directories that need no proof of use; after these, one for each kNamesAPage
  /// lookups that needed no request. So a working set larger than the name cache causes no
  /// listings.
  static constexpr std::uint64_t kPagesOnTrust = 64;
  /// Directories known at a time, at about 200 bytes; beyond, all are forgotten and counted again.
  static constexpr std::size_t kDirectoriesMax = 4096;

  /// One page to get.
  struct Step {
    std::string prefix;
    std::string token;
    std::shared_ptr<ListingPages> pages;  ///< from where
    std::size_t paid_after = 0;           ///< pages after this one that are paid for as well
  };
  using MakePages = std::function<std::shared_ptr<ListingPages>(const std::string& prefix)>;

  /// @param names_max   a directory with more is given up: its names would evict each other
  /// @param make_pages  called under this type's lock
  DirectoryPreload(std::size_t names_max, MakePages make_pages)
      : names_max_(names_max), make_pages_(std::move(make_pages)) {}

  /// The store was asked for this key and has it. Returns the page to get now, if any; report its
  /// outcome to on_page() or on_failure().
  [[nodiscard]] std::optional<Step> on_asked(const std::string& key) EXCLUDES(mutex_);
  /// A large file was opened: its bytes cost more than a page, so it pays for one.
  [[nodiscard]] std::optional<Step> on_large(const std::string& key) EXCLUDES(mutex_);
  /// A lookup was answered without the store.
  void on_known() noexcept { known_.fetch_add(1, std::memory_order_relaxed); }

  /// Names of a directory, as DirectoryOrder::on_listed takes them.
  struct Listed {
    std::size_t position = 0;
    std::vector<ListedName> names;
    std::optional<Step> next;  ///< to be got now: lookups have paid for it
  };
  [[nodiscard]] Listed on_page(const Step& step, s3::ListPage page, SeenAt seen_at)
      EXCLUDES(mutex_);
  /// Names listed so far stay valid; the next listing begins again.
  void on_failure(const Step& step) EXCLUDES(mutex_);

 private:
  struct Directory {
    explicit Directory(const std::string& prefix) : listing(prefix) {}

    DirectoryListing listing;
    ListingCursor cursor;
    std::shared_ptr<ListingPages> source;
    std::size_t asked = 0;    // names that have paid for no page yet
    std::uint64_t pages = 0;  // begun
    std::uint64_t paid = 0;   // pages that are paid for, and not begun
    std::size_t listed = 0;   // names that were certain
    bool is_listing = false;  // a page is under way
    bool is_given_up = false;
  };
  using ByPrefix = std::unordered_map<std::string, Directory>;

  [[nodiscard]] std::optional<Step> pay_names(const std::string& key, std::size_t names)
      EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Step> begin_page(const ByPrefix::iterator& at) REQUIRES(mutex_);
  /// Whether lookups have paid for the next pages.
  [[nodiscard]] bool pay(Directory& directory) REQUIRES(mutex_);

  const std::size_t names_max_;
  const MakePages make_pages_;
  Mutex mutex_;  // leaf
  ByPrefix directories_ GUARDED_BY(mutex_);
  std::uint64_t pages_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> known_ = 0;  // lookups
};

}  // namespace s3rdmafs::vfs
