// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {

/// Which way is faster for a transfer of some length, learned from the transfers themselves:
/// rdma.threshold = "auto". One for each direction and endpoint. Thread-safe.
class PathModel {
 public:
  /// From here on RDMA always: no client known begins with more, and what a
  /// wrong choice costs, here or in looking for a better one, grows with the length.
  static constexpr std::size_t kAlwaysRdmaBytes = kMiB;
  /// What is done before anything is measured: below about this size the two requests differ by
  /// less than their spread, so the one without a session is the better guess.
  static constexpr std::size_t kGuessBytes = 64 * kKiB;
  /// One transfer of each size class in so many goes the other way. Each may be slower by a few
  /// hundred microseconds, so this costs a millionth of the time and, of the bytes that should go
  /// by RDMA, less than half a per cent.
  static constexpr unsigned kExploreEvery = 256;
  /// So many on each path make a mean that one slow transfer does not turn around.
  static constexpr unsigned kSamplesMin = 8;

  /// The way for the next transfer of this length.
  [[nodiscard]] Path choose(std::size_t length_bytes);
  /// What is known to be better; takes nobody's turn.
  [[nodiscard]] Path better(std::size_t length_bytes) const;
  /// A transfer has ended well, `took` after it began.
  void on_done(std::size_t length_bytes, Path path, std::chrono::nanoseconds took);

 private:
  struct Mean {
    double nanoseconds = 0;
    unsigned samples = 0;
    void add(double value);
  };
  /// Lengths within a factor of two are one class: latency and bandwidth both show in its mean.
  struct SizeClass {
    Mean rdma;
    Mean http;
    unsigned chosen = 0;
  };
  /// Up to 4 KiB, 8 KiB, ... 1 MiB.
  static constexpr std::size_t kClasses = 9;

  [[nodiscard]] static std::size_t class_of(std::size_t length_bytes);
  [[nodiscard]] Path better_locked(std::size_t length_bytes) const REQUIRES(mutex_);

  mutable Mutex mutex_;  // leaf
  std::array<SizeClass, kClasses> classes_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
