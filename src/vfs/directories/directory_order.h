// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"
#include "vfs/directories/directory_listing.h"

namespace s3rdmafs::vfs {

/// Guesses which files are opened next where a program reads a directory in order, as copies,
/// checksums and loaders without shuffling do. Listings tell the order, and opens show whether it
/// is followed; processes that share the work of one directory count as one. Pure policy, no
/// network. Thread-safe.
class DirectoryOrder {
 public:
  /// A longer file is large: of those, few are fetched ahead.
  static constexpr std::uint64_t kSmallMax = cache::ReadCache::kPrefetchedWholeMax;
  /// How many large files ahead, and after how many of their bytes no other begins: a round trip of
  /// 50 ms at 2.5 GB/s.
  static constexpr std::size_t kLargeFilesMax = 4;
  static constexpr std::uint64_t kLargeBytesMax = 128 * kMiB;
  /// How many files ahead: hides a round trip of 1 ms from a reader of 32,000 files a second.
  static constexpr std::size_t kFilesMax = 32;
  /// How many bytes of small files with one open.
  static constexpr std::uint64_t kBytesMax = 32 * kMiB;
  /// How many files ahead of a lookup: their requests take some ten round trips.
  static constexpr std::size_t kStatsMax = 128;
  /// How far from the expected place an open or a lookup may be, since parallel readers overtake
  /// each other.
  static constexpr std::size_t kSlack = 8;
  /// Opens in order before anything is guessed.
  static constexpr std::size_t kRunMin = 3;
  /// Steps forward before large files are: the second shard of a set shows it, the same one again
  /// does not.
  static constexpr std::size_t kLargeStepsMin = 2;
  /// Directories without a listing that are remembered; beyond, all are forgotten.
  static constexpr std::size_t kUnlistedMax = 256;

  /// @param files_max  of all directories; beyond, the directory not used for longest is dropped.
  /// Of
  ///                   one directory no more are remembered
  explicit DirectoryOrder(std::size_t files_max) : files_max_(files_max) {}

  /// Files of a directory, as a listing showed them.
  /// @param prefix    empty or ending in "/"
  /// @param position  how many names of this listing came before; 0 begins it again, and names that
  ///                  do not continue the known listing are ignored
  void on_listed(const std::string& prefix, std::size_t position, std::span<const ListedName> names)
      EXCLUDES(mutex_);

  /// The attributes of a file are asked for that no listing shows; returns the next files, of which
  /// they are probably asked for too. Call for those alone that were not among the files returned.
  [[nodiscard]] std::vector<s3::ObjectInfo> on_stat(const std::string& key) EXCLUDES(mutex_);
  /// A file is opened; returns the files to fetch now.
  [[nodiscard]] std::vector<s3::ObjectInfo> on_open(const s3::ObjectInfo& object) EXCLUDES(mutex_);
  /// Whether this open of a large file, the first of its directory, makes a listing worth its
  /// request: without one no order is known. The open counts when the listing has come.
  [[nodiscard]] bool wants_listing(const s3::ObjectInfo& object) EXCLUDES(mutex_);

 private:
  struct Directory {
    std::vector<s3::ObjectInfo> files;  // by key
    std::size_t listed = 0;             // names, directories among them
    std::size_t next = 0;               // the file that is expected
    std::size_t run = 0;                // opens in order until now
    std::size_t steps = 0;              // those of them that went forward
    std::size_t fetched_to = 0;
    std::size_t next_stat = 0;  // the file after the last one that was returned by on_stat()
    std::size_t stat_run = 0;   // calls of it in order until now
    std::uint64_t last_use = 0;
  };

  /// The open that came before the listing, if that has shown its file now.
  void catch_up(const std::string& prefix, Directory& directory) REQUIRES(mutex_);
  [[nodiscard]] static bool is_large(const s3::ObjectInfo& file) {
    return file.size_bytes > kSmallMax;
  }
  /// Whether a large file may be fetched besides those that are ahead already.
  [[nodiscard]] static bool has_room_for_large(const Directory& directory);
  Directory* find(const std::string& key, std::size_t& index) REQUIRES(mutex_);
  void make_room(const Directory& but) REQUIRES(mutex_);

  const std::size_t files_max_;
  Mutex mutex_;                                                                // leaf
  std::unordered_map<std::string, Directory> directories_ GUARDED_BY(mutex_);  // by prefix
  /// Keys of large files by prefix: each the newest that was opened before a listing came.
  std::unordered_map<std::string, std::string> unlisted_ GUARDED_BY(mutex_);
  std::size_t files_ GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::vfs
