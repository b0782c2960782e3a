// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::cache {

/// How read-ahead should ask, as the store's transfers are at this time.
struct Pace {
  /// Of a reader that has only just shown: what comes in one round trip.
  std::uint64_t first_bytes = kMiB;
  /// Of one request of a reader that goes on. A power of two, first_bytes at least.
  std::uint64_t part_bytes = kMiB;
  /// What a reader needs ahead of it in order not to wait; two parts at least.
  std::uint64_t window_bytes = 2 * kMiB;
};

/// What a GET costs, learned from those that ended well: the shortest time one took, and the best
/// rate of one. Both of the last seconds, so that another server or a busier network shows.
/// Thread-safe.
class TransferModel {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Less than this is never worth a request of its own for a reader that goes on: a request costs
  /// 100 to 200 us of processor time, as much as copying a MiB.
  static constexpr std::uint64_t kPartBytesMin = 1 * kMiB;
  /// A slab: no GET is longer, since its bytes would lie in two regions.
  static constexpr std::uint64_t kPartBytesMax = kSlabBytes;
  /// How long a part may be on its way, where round trips do not say more: it holds a connection
  /// that something more urgent may want. At 2 GB/s it makes parts as large as can be.
  static constexpr std::chrono::milliseconds kPartTime{4};
  /// So many round trips a part lasts at least, so that waiting for an answer is a small share.
  static constexpr int kPartRoundTrips = 4;
  /// A round trip takes up to so many times the shortest: the jitter of a busy network.
  static constexpr int kJitter = 4;
  /// How long a figure is believed: at least this, at most twice as long.
  static constexpr std::chrono::seconds kMemory{10};

  /// A GET of so many bytes has ended at `now`, `took` after it was sent.
  void on_done(std::uint64_t bytes, std::chrono::nanoseconds took, Time now) EXCLUDES(mutex_);

  /// Careful values where nothing has been measured. Without a lock: every read asks.
  [[nodiscard]] Pace pace() const;

 private:
  /// The extremes of one stretch of time.
  struct Extremes {
    std::chrono::nanoseconds latency = std::chrono::nanoseconds::max();
    double bytes_per_second = 0;
  };

  Mutex mutex_;  // leaf
  Extremes now_ GUARDED_BY(mutex_);
  Extremes before_ GUARDED_BY(mutex_);
  std::optional<Time> began_ GUARDED_BY(mutex_);  // of now_
  // The pace. Each by itself: a reader who meets two that do not go together asks for a little more
  // or less, once.
  std::atomic<std::uint64_t> first_bytes_{Pace{}.first_bytes};
  std::atomic<std::uint64_t> part_bytes_{Pace{}.part_bytes};
  std::atomic<std::uint64_t> window_bytes_{Pace{}.window_bytes};
};

}  // namespace s3rdmafs::cache
