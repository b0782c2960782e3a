// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/readahead/active_streams.h"
#include "cache/readahead/read_ahead.h"
#include "cache/readahead/transfer_model.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// How much memory read-ahead may use: a quarter of the cache, or half of it where the server is
/// far, in equal shares for the streams that read at this time. The rest keeps what was read. A
/// stream that reads alone has the whole window; files that are only open take nothing.
/// Thread-safe.
class ReadAheadBudget {
 public:
  using Time = ActiveStreams::Time;

  /// Even a stream among many gets one request of this size, unless the setting is smaller.
  static constexpr std::uint64_t kShareMin = 4 * kMiB;

  /// @param window_max_bytes  of one stream; 0 switches read-ahead off
  ReadAheadBudget(std::uint64_t cache_bytes, std::uint64_t window_max_bytes)
      : cache_bytes_(cache_bytes), window_max_bytes_(window_max_bytes) {}

  void set_window_max(std::uint64_t bytes) { window_max_bytes_ = bytes; }

  /// Call it after each on_read() of an object's streams, under the object's lock.
  void note_read(ReadAhead& streams, Time now) {
    const std::uint64_t period = ActiveStreams::period_of(now);
    if (streams.is_to_count(period)) active_.add(period);
    active_.remove(streams.take_ended());
  }

  /// At least 1.
  [[nodiscard]] std::uint64_t active_streams(Time now) const {
    return std::max<std::uint64_t>(active_.count(now), 1);
  }
  /// The bytes that one stream may have ahead of it.
  [[nodiscard]] std::uint64_t share(Time now, const Pace& pace) const {
    const std::uint64_t window_max = window_max_bytes_;  // once: it may be set meanwhile
    if (window_max == 0) return 0;
    return std::clamp(for_all_bytes(pace) / active_streams(now), std::min(window_max, kShareMin),
                      window_max);
  }
  /// Of any object: its streams have a share each.
  [[nodiscard]] ReadAhead::Limits limits(Time now, Pace pace) const {
    const std::uint64_t window_max = share(now, pace);
    return {.window_max_bytes = window_max,
            .budget_bytes = std::max(window_max, for_all_bytes(pace)),
            .pace = pace};
  }

 private:
  /// A far server's bytes that are on their way need the memory: with less, each round trip has a
  /// wait in it.
  [[nodiscard]] std::uint64_t for_all_bytes(const Pace& pace) const {
    return cache_bytes_ / (pace.is_far ? 2 : 4);
  }

  const std::uint64_t cache_bytes_;
  std::atomic<std::uint64_t> window_max_bytes_;
  ActiveStreams active_;
};

}  // namespace s3rdmafs::cache
