// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "s3rdmafs/base/units.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// How each version of a large file was read when it was last open, so that the next open suits its
/// readers. It is a guess: a wrong one costs time, never correctness. Thread-safe; on_read() takes
/// no lock.
class AccessHistory {
 public:
  /// The facts that one READ request tells about its reader.
  struct Read {
    std::size_t bytes = 0;
    bool fills_page_cache = false;  ///< for a mapping, or a read() of a cached file
  };

  /// The largest direct read that costs more than the same bytes through the page cache, which
  /// reads ahead: at 128 KiB both cost the same (0.39 and 0.42 CPU s/GB), and below it each read
  /// pays for a request of its own.
  static constexpr std::size_t kSmallReadBytes = 64 * kKiB;
  /// Fewer bytes tell nothing: a program looked at a header or an index.
  static constexpr std::uint64_t kEvidenceBytes = 256 * kKiB;
  /// After so many openings through the page cache, where large and small reads look alike, one
  /// direct opening learns again how the version is read.
  static constexpr unsigned kOpeningsTrusted = 16;
  /// Versions remembered at once; they take 128 KiB in all.
  static constexpr std::size_t kVersionsMax = 4096;

  AccessHistory();

  /// Whether the first handle of a version should be opened through the page cache. Counts the
  /// opening.
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
