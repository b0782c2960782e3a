// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "s3/endpoints/recent_durations.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {

/// Which path is faster for a transfer of some length, learned from the transfers themselves:
/// rdma.threshold = "auto". One for each direction and endpoint. Thread-safe.
class PathModel {
 public:
  /// From this length on always RDMA: it is faster from less on with every server known, and the
  /// cost of a wrong choice or of a trial grows with the length.
  static constexpr std::size_t kAlwaysRdmaBytes = kMiB;
  /// The threshold before anything is measured. Below about this size the two requests differ by
  /// less than their spread, so the one without a session is the better guess.
  static constexpr std::size_t kGuessBytes = 64 * kKiB;
  /// One in this many transfers of each size class goes by the other path. Each may be slower by a
  /// few hundred microseconds. That costs a millionth of the time and less than half a per cent of
  /// the bytes that should go by RDMA.
  static constexpr unsigned kExploreEvery = 256;
  /// Samples of each path that make a mean which one slow transfer does not reverse.
  static constexpr unsigned kSamplesMin = 8;

  /// The path for the next transfer of this length; now and then the worse one, as a trial.
  [[nodiscard]] Path choose(std::size_t length_bytes);
  /// The path that is known to be better. Does not count as a transfer.
  [[nodiscard]] Path better(std::size_t length_bytes) const;
  /// A transfer has succeeded, `took` after it began.
  void on_done(std::size_t length_bytes, Path path, std::chrono::nanoseconds took);

 private:
  /// Up to 4 KiB, 8 KiB, ... 1 MiB.
  static constexpr std::size_t kClasses = 9;
  /// Transfers longer than some 16 ago are forgotten, so that a change of load shows within a
  /// second of a busy mount.
  static constexpr unsigned kMemory = 16;

  [[nodiscard]] Path better_locked(std::size_t length_bytes) const REQUIRES(mutex_);

  mutable Mutex mutex_;  // leaf
  RecentDurations by_rdma_ GUARDED_BY(mutex_){kClasses, kMemory, kSamplesMin};
  RecentDurations by_http_ GUARDED_BY(mutex_){kClasses, kMemory, kSamplesMin};
  std::array<unsigned, kClasses> chosen_ GUARDED_BY(mutex_){};  // by size class
};

}  // namespace s3rdmafs::s3
