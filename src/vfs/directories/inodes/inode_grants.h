// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace s3rdmafs::vfs {

/// Decides which names of one listing the kernel gets with an inode. An inode takes about 2 KiB in
/// the daemon and the kernel together, and the kernel frees it under memory pressure only; a name
/// without one costs a lookup where the program asks for attributes, as `ls -l` does. So the first
/// names get one on trust. After them a few names come without: where the program asks for those,
/// a stretch of names gets inodes, and the next few are another sample. Pure policy. Not
/// thread-safe.
class InodeGrants {
 public:
  /// As many names as the name cache holds.
  static constexpr std::uint64_t kOnTrust = 65'536;
  /// Names of a sample; a lookup takes ten times as long as an inode that comes with a listing.
  static constexpr std::size_t kSample = 64;
  /// Names that get an inode because of a sample: 8 MiB for a program that has stopped asking.
  static constexpr std::uint64_t kForASample = 4096;

  struct Reply {
    std::size_t names_max = 0;
    bool has_inodes = false;
  };

  /// The limits of a reply that begins at `offset`.
  /// @param lookups  of names of this directory until now
  [[nodiscard]] Reply next(std::uint64_t offset, std::size_t names_max, std::uint64_t lookups) {
    const std::uint64_t asked = lookups - std::exchange(lookups_, lookups);
    const std::size_t shown = std::exchange(shown_without_, 0);
    // Not each, since a reply may have room for a part of its names.
    if (shown > 0 && asked >= std::max<std::size_t>(1, std::min(shown, kSample) / 4)) {
      granted_to_ = offset + kForASample;
      is_used_ = true;
    }
    if (offset < granted_to_) return {names_max, true};
    const bool is_sample = std::exchange(is_used_, false) || !was_sampled_;
    was_sampled_ = true;
    shown_without_ = is_sample ? std::min(names_max, kSample) : names_max;
    return {shown_without_, false};
  }

 private:
  std::uint64_t granted_to_ = kOnTrust;
  std::uint64_t lookups_ = 0;
  std::size_t shown_without_ = 0;  ///< names of the last reply, if they had no inodes
  bool is_used_ = false;           ///< the last sample was asked for
  bool was_sampled_ = false;
};

}  // namespace s3rdmafs::vfs
