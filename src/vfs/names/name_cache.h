// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directory_listing.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// The store's recent answers about keys, so that a lookup after a listing, or soon after another
/// lookup, needs no network. Holds answers that a key exists and that it does not. Attributes that
/// are known of a version stay when a listing shows the version again. Thread-safe.
class NameCache {
 public:
  struct Limits {
    std::chrono::milliseconds ttl{};           ///< for names that exist; 0 keeps none
    std::chrono::milliseconds negative_ttl{};  ///< for names that do not; 0 keeps none
    std::size_t entries_max = 0;
    /// Of memory, whatever the number: keys may have 1,024 bytes.
    std::uint64_t bytes_max = 32 * kMiB;
  };

  /// @param bytes  follows the memory that the answers take; may be null; borrowed
  NameCache(const Clock& clock, Limits limits, metrics::Gauge* bytes = nullptr)
      : clock_(clock), limits_(limits), bytes_gauge_(bytes) {}

  /// The answer for a key (a directory's without its last "/"), if a fresh one is known.
  [[nodiscard]] std::optional<NameAnswer> find(const std::string& key) const;
  /// Whether the newest answer that it remembers, however old, says that the key exists, or was
  /// found wrong: the kernel may have the name. False where it remembers none.
  [[nodiscard]] bool was_found(const std::string& key) const;
  /// Keeps the answer, unless a newer one is known.
  void insert(const std::string& key, NameAnswer answer);
  /// The same for each name of a listing.
  void insert(std::span<const ListedName> listed);
  /// This mount changed the key, or found an answer wrong: one that was requested before `since` is
  /// not believed, nor kept if it comes later.
  void invalidate(const std::string& key, SeenAt since);
  /// Whether the key may have been changed by this mount, or answered for again, after this was
  /// seen. Never false for a change: of those it has forgotten, it knows the newest.
  [[nodiscard]] bool is_superseded(const std::string& key, SeenAt seen_at) const;

  /// So many of the newest answers are kept, unless their keys are very long.
  [[nodiscard]] std::size_t newest_kept() const { return limits_.entries_max / 2; }
  /// How long an answer may still be used: the rest of its ttl, never below zero.
  [[nodiscard]] std::chrono::milliseconds time_left(SeenAt seen_at) const;

 private:
  struct Kept {
    std::optional<NameAnswer> answer;  ///< nothing: invalidated
    SeenAt seen_at;
  };
  /// One generation.
  struct Answers {
    std::unordered_map<std::string, Kept> by_key;
    std::uint64_t bytes = 0;
    SeenAt newest_change = SeenAt::min();  ///< of those that were invalidated here
  };

  [[nodiscard]] std::chrono::milliseconds ttl_of(const NameAnswer& answer) const {
    return answer.node ? limits_.ttl : limits_.negative_ttl;
  }
  void keep(const std::string& key, Kept kept);
  /// Gives an answer of a listing the attributes that were known of the same version.
  static void take_attributes(const Kept& known, Kept& kept);
  static std::uint64_t bytes_of(const std::string& key, const Kept& kept);

  const Clock& clock_;
  const Limits limits_;
  metrics::Gauge* const bytes_gauge_;
  mutable Mutex mutex_;  // leaf
  Answers young_ GUARDED_BY(mutex_);
  Answers old_ GUARDED_BY(mutex_);
  SeenAt newest_forgotten_change_ GUARDED_BY(mutex_) = SeenAt::min();
  std::int64_t told_bytes_ GUARDED_BY(mutex_) = 0;  // to the gauge, which other caches share
};

}  // namespace s3rdmafs::vfs
