// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::vfs {

/// How much memory the snapshots of all open directories may use. It is checked before a page is
/// fetched and charged afterwards, so pages under way may exceed it by one for each directory.
/// Thread-safe, lock-free.
class SnapshotBudget {
 public:
  /// @param used  counts the bytes; outlives this
  SnapshotBudget(std::uint64_t bytes_max, metrics::Gauge& used)
      : bytes_max_(bytes_max), used_(used) {}

  [[nodiscard]] bool has_room() const noexcept {
    return static_cast<std::uint64_t>(used_.value()) < bytes_max_;
  }
  /// For listings that are guesses.
  [[nodiscard]] bool has_room_for_guesses() const noexcept {
    return static_cast<std::uint64_t>(used_.value()) < bytes_max_ / 2;
  }
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  void take(std::uint64_t bytes) noexcept { used_.add(static_cast<std::int64_t>(bytes)); }
  void give_back(std::uint64_t bytes) noexcept { used_.add(-static_cast<std::int64_t>(bytes)); }

 private:
  const std::uint64_t bytes_max_;
  metrics::Gauge& used_;
};

}  // namespace s3rdmafs::vfs
