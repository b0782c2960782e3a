// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "s3rdmafs/base/units.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// How each version of a large file was read when it was last open, so that the next open can be
/// answered in the way that suits its readers. A guess: wrong, it costs time, never bytes.
/// Thread-safe; on_read() takes no lock.
class AccessHistory {
 public:
  /// What one request of the kernel tells of who reads.
  struct Read {
    std::size_t bytes = 0;
    bool fills_page_cache = false;  ///< for a mapping, or a read() of a cached file
  };

  /// The largest direct read that costs more than the same bytes through the page cache, which
  /// fetches ahead of them: at 128 KiB both cost the same (0.39 and 0.42 CPU s/GB), below it each
  /// read pays for a request of its own.
  static constexpr std::size_t kSmallReadBytes = 64 * kKiB;
  /// Less than this tells nothing: it is a header or an index that was looked at.
  static constexpr std::uint64_t kEvidenceBytes = 256 * kKiB;
  /// After so many openings through the page cache, where large and small reads look alike, the
  /// habit is learned anew by a direct one.
  static constexpr unsigned kOpeningsTrusted = 16;
  /// Versions remembered at once; 128 KiB in all.
  static constexpr std::size_t kVersionsMax = 4096;

  AccessHistory();

  /// The version is about to be opened by its first handle: whether through the page cache.
  [[nodiscard]] bool wants_page_cache(vfs::Ino ino);
  void on_read(vfs::Ino ino, Read read) noexcept;

 private:
  struct Version {
    std::atomic<vfs::Ino> ino = 0;
    std::atomic<unsigned> openings_left = 0;  ///< through the page cache
    std::atomic<std::uint64_t> large_bytes = 0;
    std::atomic<std::uint64_t> small_bytes = 0;  ///< by small reads and for mappings
  };

  Version& version_of(vfs::Ino ino) noexcept { return versions_[ino % kVersionsMax]; }

  const std::unique_ptr<Version[]> versions_;
};

}  // namespace s3rdmafs::fuse
