// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/directory_listing.h"

namespace s3rdmafs::vfs {

/// Guesses which directories are listed next where a program lists those of one parent in order, as
/// find(1) and `ls -R` do. The parent's listing tells the order. Pure policy, no network.
/// Thread-safe.
class SiblingOrder {
 public:
  /// How many directories ahead, at most: a walk that needs 3 ms for each does not wait for answers
  /// that are 50 ms late. Only a long walk is so far ahead: what was in vain is then at most half
  /// of what it used.
  static constexpr std::size_t kAheadMax = 32;
  /// The same until a walk has opened twice as many.
  static constexpr std::size_t kAheadOfShort = 16;
  /// Where a parent's first directory is opened: most programs that do so go on. Four late answers
  /// are then on their way together with the first.
  static constexpr std::size_t kAheadOfFirst = 4;
  /// How far from the expected place an open may be: `ls -R` sorts by locale, not by bytes.
  static constexpr std::size_t kSlack = 8;
  /// Opens in order before anything else is guessed.
  static constexpr std::size_t kRunMin = 2;

  /// @param directories_max  of all parents; beyond, the parent not used for longest is dropped.
  ///                         Of one parent no more are remembered
  explicit SiblingOrder(std::size_t directories_max) : directories_max_(directories_max) {}

  /// Names of a directory, as a listing showed them; see DirectoryOrder::on_listed.
  void on_listed(const std::string& prefix, std::size_t position, std::span<const ListedName> names)
      EXCLUDES(mutex_);
  /// A directory is opened; returns the prefixes of those to list now.
  [[nodiscard]] std::vector<std::string> on_open(const std::string& prefix) EXCLUDES(mutex_);

 private:
  struct Parent {
    std::vector<std::string> prefixes;  // of its directories, ascending
    std::size_t listed = 0;             // names, files among them
    std::size_t next = 0;               // the directory that is expected
    std::size_t run = 0;                // opens in order until now
    std::size_t ahead_to = 0;           // what is before this was named
    std::uint64_t last_use = 0;
  };
  /// How far ahead of the directory at this index is listed.
  static std::size_t window_of(const Parent& parent, std::size_t index);
  void make_room(const Parent& but) REQUIRES(mutex_);

  const std::size_t directories_max_;
  Mutex mutex_;                                                         // leaf
  std::unordered_map<std::string, Parent> parents_ GUARDED_BY(mutex_);  // by prefix
  std::size_t directories_ GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::vfs
