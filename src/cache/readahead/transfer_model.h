// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::cache {

/// The sizes for read-ahead that suit the store's present transfers.
struct Pace {
  /// The first window of a stream: the bytes that arrive in one round trip.
  std::uint64_t first_bytes = kMiB;
  /// One request of a stream that goes on. A power of two, at least first_bytes.
  std::uint64_t part_bytes = kMiB;
  /// The bytes that a reader needs ahead of it in order not to wait; at least two parts.
  std::uint64_t window_bytes = 2 * kMiB;
};

/// The cost of a GET, learned from those that succeeded in the last seconds: the shortest time and
/// the best rate. Old values expire, so that another server or a busier network shows. Thread-safe.
class TransferModel {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The smallest request of a stream that goes on: a request costs 100 to 200 us of processor
  /// time, as much as copying a MiB.
  static constexpr std::uint64_t kPartBytesMin = 1 * kMiB;
  /// A slab: the bytes of a longer GET would lie in two regions.
  static constexpr std::uint64_t kPartBytesMax = kSlabBytes;
  /// The time that a part may take, unless round trips are long: it holds a connection that a more
  /// urgent request may need. At 2 GB/s parts have the largest size.
  static constexpr std::chrono::milliseconds kPartTime{4};
  /// The fewest round trips that a part takes, so that waiting for the answer is a small share.
  static constexpr int kPartRoundTrips = 4;
  /// The longest round trip in shortest ones: the jitter of a busy network.
  static constexpr int kJitter = 4;
  /// How long a value counts: at least this, at most twice as long.
  static constexpr std::chrono::seconds kMemory{10};

  /// Records a GET of `bytes` that ended well at `now`, `took` after it was sent.
  void on_done(std::uint64_t bytes, std::chrono::nanoseconds took, Time now) EXCLUDES(mutex_);

  /// Small values before the first measurement. Takes no lock, since every read asks.
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
  // The pace. Each is atomic by itself: a reader that sees two of different updates asks once for a
  // little more or less.
  std::atomic<std::uint64_t> first_bytes_{Pace{}.first_bytes};
  std::atomic<std::uint64_t> part_bytes_{Pace{}.part_bytes};
  std::atomic<std::uint64_t> window_bytes_{Pace{}.window_bytes};
};

}  // namespace s3rdmafs::cache
