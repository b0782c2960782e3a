// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// Tells the versions apart that this mount stored under one key and that got one ETag.
///
/// Some servers make an ETag of size and time in seconds, so an overwrite within the second has the
/// ETag of what it replaced; and others make it of the bytes, so it comes again with them. Inodes
/// and caches go by key and ETag: where an ETag that was seen comes back from a store of our own,
/// the version gets a generation besides. Thread-safe.
class Generations {
 public:
  /// @param entries_max  of the versions that are remembered, and of those with a generation; at
  /// least 1
  explicit Generations(std::size_t entries_max) : entries_max_(entries_max) {}

  /// Bytes of this version may be cached under its key and ETag from now on.
  void seen(std::string_view key, std::string_view etag);
  /// This mount has stored a version. True: with an ETag that named another one before.
  bool stored(std::string_view key, std::string_view etag);
  /// Of the version that the key has, if it has this ETag: 0 unless an ETag came back.
  [[nodiscard]] std::uint64_t of(std::string_view key, std::string_view etag) const;

 private:
  using Versions = std::unordered_set<std::uint64_t>;  ///< hashes of key and ETag

  bool note(std::uint64_t version) REQUIRES(mutex_);

  const std::size_t entries_max_;
  std::atomic<bool> has_any_ = false;
  mutable Mutex mutex_;  // leaf
  Versions young_ GUARDED_BY(mutex_);
  Versions old_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::uint64_t> generations_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::uint64_t of_others_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::vfs
