// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// When a read is so slow that another server should be asked, learned from the reads themselves,
/// and how many may be. Thread-safe.
class HedgePolicy {
 public:
  /// What several times the mean of its length class takes. Queues make one read in a hundred take
  /// about five times the mean (exponential times do), and with a share of one in fifty those and
  /// no ordinary ones should be meant.
  static constexpr unsigned kTimesMean = 5;
  /// Never sooner: a thread that waits its turn on a busy machine takes some milliseconds, and no
  /// job notices what 50 ms less of one read brings.
  static constexpr std::chrono::milliseconds kFloor{50};
  /// Reads of a class before its mean is believed.
  static constexpr unsigned kSamplesMin = 16;
  /// What each read pays in: in the long run one in fifty is asked for twice. Each of those adds
  /// its bytes to the servers' load, and by token sends a slab of the cache into quarantine.
  static constexpr double kPerRead = 0.02;
  /// The most that is saved: reads that wait together for one server that hangs. Of a cache of
  /// 1 GiB so many slabs are a sixteenth.
  static constexpr double kCapacity = 8;

  /// How long a read of this length may take before try_spend() is worth asking; nothing while that
  /// is not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> bound(std::size_t length_bytes) const;

  /// A read was begun.
  void on_read();
  /// A read has ended well, `took` after it was sent.
  void on_done(std::size_t length_bytes, std::chrono::nanoseconds took);

  /// Takes the right to give one read up; false where too many were.
  [[nodiscard]] bool try_spend();

 private:
  /// Lengths up to 4 KiB, 8 KiB, ... 8 MiB, and longer: within a factor of two one mean will do.
  static constexpr std::size_t kClasses = 13;
  struct Mean {
    double nanoseconds = 0;
    unsigned samples = 0;
  };

  [[nodiscard]] static std::size_t class_of(std::size_t length_bytes);

  mutable Mutex mutex_;  // leaf
  std::array<Mean, kClasses> means_ GUARDED_BY(mutex_);
  double saved_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::s3
