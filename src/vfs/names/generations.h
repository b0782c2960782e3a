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

/// Distinguishes versions that this mount stored under one key and that got the same ETag.
///
/// Some servers compute an ETag from size and time in seconds, so an overwrite within the second
/// has the ETag of the version it replaced. Others compute it from the bytes, so it returns with
/// them. Inodes and caches identify a version by key and ETag. Where this mount stores a version
/// and gets an ETag that was seen before, the version gets a generation besides. Thread-safe.
class Generations {
 public:
  /// @param entries_max  of versions remembered, and of those with a generation; at least 1
  explicit Generations(std::size_t entries_max) : entries_max_(entries_max) {}

  /// Bytes of this version may be cached under its key and ETag from now on.
  void seen(std::string_view key, std::string_view etag);
  /// This mount has stored a version. True: with an ETag that named another one before.
  bool stored(std::string_view key, std::string_view etag);
  /// The generation of the key's version, if it has this ETag: 0 unless the ETag was repeated.
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
