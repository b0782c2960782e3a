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
  /// More than this is of no use to one stream, however it stalls.
  std::uint64_t useful_bytes = 64 * kMiB;
  /// Answers take so long that a stream which doubled its window each time would wait for many.
  bool is_far = false;
};

/// The cost of a GET, learned from those that succeeded in the last seconds: the shortest time and
/// the best rate. Requests without bytes tell how far the server is. Old values expire, so that
/// another server or a busier network shows. Thread-safe.
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
  /// Where an answer without bytes takes this long at least, the server is far.
  static constexpr std::chrono::milliseconds kFarFrom{4};
  /// The processor time of a GET, by which times differ that are the same to the network.
  static constexpr std::chrono::microseconds kRequestTime{200};
  /// The bytes that one stream may have on their way to a server that is near: 10 ms of a reader of
  /// 6 GB/s, which covers a server that is busy for as long.
  static constexpr std::uint64_t kUsefulBytesMin = 64 * kMiB;
  /// The same for each second of a round trip: what a port of 100 Gbit/s carries.
  static constexpr double kUsefulBytesPerSecond = 12.5e9;
  /// Of a network whose rate no GET has shown yet: the least that a node of a cluster has (10
  /// Gbit/s). To learn it first would cost a program one more round trip to a far server.
  static constexpr double kGuessedBytesPerSecond = 1e9;
  /// How long a value counts: at least this, at most twice as long.
  static constexpr std::chrono::seconds kMemory{10};
  /// The same for answers without bytes: a program may read for minutes and look nothing up.
  static constexpr std::chrono::minutes kAnswerMemory{10};

  /// Records a GET of `bytes` that ended well at `now`, `took` after it was sent.
  void on_done(std::uint64_t bytes, std::chrono::nanoseconds took, Time now) EXCLUDES(mutex_);

  /// Records a request without bytes that was answered `took` after it was sent.
  void on_answer(std::chrono::nanoseconds took, Time now) EXCLUDES(mutex_);

  /// Small values before the first measurement, unless answers show that the server is far. Takes
  /// no lock, since every read asks.
  [[nodiscard]] Pace pace() const;

 private:
  /// The extremes of one stretch of time.
  struct Extremes {
    std::chrono::nanoseconds latency = std::chrono::nanoseconds::max();
    double bytes_per_second = 0;
    /// Of the network alone, without the time of an answer; 0 where the server is near.
    double network_bytes_per_second = 0;
  };
  /// The shortest answers without bytes, in this stretch of time and in the one before.
  struct Answers {
    std::chrono::nanoseconds now = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds before = std::chrono::nanoseconds::max();
    std::optional<Time> began;
  };

  /// The time of an answer of a server that is far; nothing where it is near or not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> far_answer() const REQUIRES(mutex_);
  /// Sizes the pace by what is known now.
  void set_pace() REQUIRES(mutex_);
  void store(const Pace& pace) REQUIRES(mutex_);

  Mutex mutex_;  // leaf
  Extremes now_ GUARDED_BY(mutex_);
  Extremes before_ GUARDED_BY(mutex_);
  std::optional<Time> began_ GUARDED_BY(mutex_);  // of now_
  Answers answers_ GUARDED_BY(mutex_);
  // The pace. Each is atomic by itself: a reader that sees two of different updates asks once for a
  // little more or less.
  std::atomic<std::uint64_t> first_bytes_{Pace{}.first_bytes};
  std::atomic<std::uint64_t> part_bytes_{Pace{}.part_bytes};
  std::atomic<std::uint64_t> window_bytes_{Pace{}.window_bytes};
  std::atomic<std::uint64_t> useful_bytes_{Pace{}.useful_bytes};
  std::atomic<bool> is_far_{Pace{}.is_far};
};

}  // namespace s3rdmafs::cache
