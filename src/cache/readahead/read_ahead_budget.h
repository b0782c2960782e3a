// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/readahead/read_ahead.h"
#include "cache/readahead/transfer_model.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// How much memory read-ahead may use: a quarter of the cache, shared by all open readers. The rest
/// keeps what was read. Thread-safe.
class ReadAheadBudget {
 public:
  /// Even a reader among many gets one request of this size, unless the setting is smaller.
  static constexpr std::uint64_t kShareMin = 4 * kMiB;

  /// @param window_max_bytes  of one stream; 0 switches read-ahead off
  ReadAheadBudget(std::uint64_t cache_bytes, std::uint64_t window_max_bytes)
      : for_all_bytes_(cache_bytes / 4), window_max_bytes_(window_max_bytes) {}

  void set_window_max(std::uint64_t bytes) { window_max_bytes_ = bytes; }

  void add_reader() { ++readers_; }
  void remove_reader() { --readers_; }

  /// The bytes that one reader may have ahead of it.
  [[nodiscard]] std::uint64_t share() const {
    const std::uint64_t window_max = window_max_bytes_;  // once: it may be set meanwhile
    if (window_max == 0) return 0;
    return std::clamp(for_all_bytes_ / readers(), std::min(window_max, kShareMin), window_max);
  }
  /// Of an object that so many of the readers have open.
  [[nodiscard]] ReadAhead::Limits limits(std::size_t readers_of_object, Pace pace) const {
    const std::uint64_t window_max = share();
    return {.window_max_bytes = window_max,
            .budget_bytes = std::max(window_max, for_all_bytes_ / readers() * readers_of_object),
            .pace = pace};
  }

 private:
  [[nodiscard]] std::uint64_t readers() const { return std::max<std::size_t>(readers_, 1); }

  const std::uint64_t for_all_bytes_;
  std::atomic<std::uint64_t> window_max_bytes_;
  std::atomic<std::size_t> readers_{0};
};

}  // namespace s3rdmafs::cache
