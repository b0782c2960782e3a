// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "s3/endpoints/recent_durations.h"
#include "s3/endpoints/token_bucket.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// When a read is slow enough to be sent to another server, learned from the reads themselves, and
/// how many reads may be. Thread-safe.
class HedgePolicy {
 public:
  /// A read is slow after this many times the mean of its size class. Queues make one read in a
  /// hundred take about five times the mean (exponential times do). A share of one in fifty then
  /// covers those reads, and no ordinary ones.
  static constexpr unsigned kTimesMean = 5;
  /// Never sooner: a thread that waits for its turn on a busy machine takes some milliseconds, and
  /// 50 ms less for one read make no job faster.
  static constexpr std::chrono::milliseconds kFloor{50};
  /// Reads of a class before its mean is believed.
  static constexpr unsigned kSamplesMin = 16;
  /// The share of a hedge that each read earns: in the long run one read in fifty is sent twice.
  /// Each hedge adds its bytes to the servers' load, and by token sends a slab of the cache into
  /// quarantine.
  static constexpr double kPerRead = 0.02;
  /// The most hedges that are saved up: reads that wait together for one server that hangs. With a
  /// cache of 1 GiB this many slabs are a sixteenth of it.
  static constexpr double kCapacity = 8;

  /// How long a read of this length may take before try_spend() is worth asking; nothing while that
  /// is not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> bound(std::size_t length_bytes) const;

  /// A read was begun.
  void on_read();
  /// A read has succeeded, `took` after it was sent.
  void on_done(std::size_t length_bytes, std::chrono::nanoseconds took);

  /// Takes the right to hedge one read; false if too many reads were.
  [[nodiscard]] bool try_spend();

 private:
  /// Up to 4 KiB, 8 KiB, ... 8 MiB, and longer.
  static constexpr std::size_t kClasses = 13;
  /// A change of load shows within some 32 reads, and one slow read hardly moves the mean.
  static constexpr unsigned kMemory = 32;

  mutable Mutex mutex_;  // leaf
  RecentDurations durations_ GUARDED_BY(mutex_){kClasses, kMemory, kSamplesMin};
  TokenBucket saved_ GUARDED_BY(mutex_){kCapacity, 0};
};

}  // namespace s3rdmafs::s3
