// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/directories/listing_cursor.h"

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
  /// Pages of all directories that need no proof of use; after these, one for each kNamesAPage
  /// lookups that needed no request. So a working set larger than the name cache causes no
  /// listings.
  static constexpr std::uint64_t kPagesOnTrust = 64;
  /// Directories known at a time, at about 200 bytes; beyond, all are forgotten and counted again.
  static constexpr std::size_t kDirectoriesMax = 4096;

  /// @param names_max  a directory with more is given up: its names would evict each other
  explicit DirectoryPreload(std::size_t names_max) : names_max_(names_max) {}

  /// The store was asked for this key and has it. Returns the page to request now, if any; report
  /// its outcome to on_page() or on_failure().
  [[nodiscard]] std::optional<s3::ListRequest> on_asked(const std::string& key) EXCLUDES(mutex_);
  /// A lookup was answered without the store.
  void on_known() noexcept { known_.fetch_add(1, std::memory_order_relaxed); }

  /// Names of a directory, as DirectoryOrder::on_listed takes them.
  struct Listed {
    std::size_t position = 0;
    std::vector<ListedName> names;
  };
  [[nodiscard]] Listed on_page(const s3::ListRequest& asked, s3::ListPage page, SeenAt seen_at)
      EXCLUDES(mutex_);
  /// Names listed so far stay valid; the next listing begins again.
  void on_failure(const s3::ListRequest& asked) EXCLUDES(mutex_);

 private:
  struct Directory {
    explicit Directory(const std::string& prefix) : listing(prefix) {}

    DirectoryListing listing;
    ListingCursor cursor;
    std::size_t asked = 0;    // names, since the last page
    std::size_t listed = 0;   // names that were certain
    bool is_listing = false;  // a page is under way
    bool is_given_up = false;
  };

  const std::size_t names_max_;
  Mutex mutex_;                                                                // leaf
  std::unordered_map<std::string, Directory> directories_ GUARDED_BY(mutex_);  // by prefix
  std::uint64_t pages_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> known_ = 0;  // lookups
};

}  // namespace s3rdmafs::vfs
