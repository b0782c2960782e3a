// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"
#include "vfs/directories/directory_listing.h"

namespace s3rdmafs::vfs {

/// Guesses which small files are opened next where a program goes through a directory in order, as
/// copies, checksums and loaders that do not shuffle do. It knows the order from the listings that
/// somebody asked for, and sees it followed by what is opened; processes that share the work of one
/// directory count as one. Pure policy, no network. Thread-safe.
class DirectoryOrder {
 public:
  /// The longest file that is fetched before it is opened: longer ones have a read-ahead of their
  /// own that is soon at speed.
  static constexpr std::uint64_t kFileBytesMax = 4 * kMiB;
  /// How far ahead: a round trip of 1 ms is hidden from a reader of 32,000 files a second.
  static constexpr std::size_t kFilesMax = 32;
  /// And no more than this, whatever the files' sizes.
  static constexpr std::uint64_t kBytesMax = 32 * kMiB;
  /// How far from the expected place an open may be, since parallel readers overtake each other.
  static constexpr std::size_t kSlack = 8;
  /// Opens in order before anything is guessed.
  static constexpr std::size_t kRunMin = 3;

  /// @param files_max  what is remembered of all directories; the one not used for longest goes
  explicit DirectoryOrder(std::size_t files_max) : files_max_(files_max) {}

  /// Files of a directory, as a listing showed them.
  /// @param prefix    empty or ending in "/"
  /// @param position  names of this listing that were told of before; 0 begins anew, and what does
  ///                  not continue the listing known is ignored
  void on_listed(const std::string& prefix, std::size_t position, std::span<const ListedName> names)
      EXCLUDES(mutex_);

  /// Tells of an open; returns what to fetch now.
  [[nodiscard]] std::vector<s3::ObjectInfo> on_open(const s3::ObjectInfo& object) EXCLUDES(mutex_);

 private:
  struct Directory {
    std::vector<s3::ObjectInfo> files;  // by key
    std::size_t listed = 0;             // names, directories among them
    std::size_t next = 0;               // the file that is expected
    std::size_t run = 0;                // opens in order until now
    std::size_t fetched_to = 0;
    std::uint64_t last_use = 0;
  };

  void make_room(const Directory& but) REQUIRES(mutex_);

  const std::size_t files_max_;
  Mutex mutex_;                                                                // leaf
  std::unordered_map<std::string, Directory> directories_ GUARDED_BY(mutex_);  // by prefix
  std::size_t files_ GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::vfs
