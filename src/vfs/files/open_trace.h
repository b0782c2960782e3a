// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// The versions that programs open for reading, in their order, while a recorder asks for them. One
/// recorder at a time; its recording ends by itself where it asks no more. Without one an open
/// costs a load of an atomic. Thread-safe.
class OpenTrace {
 public:
  struct Opened {
    std::chrono::milliseconds at{};  ///< since the recording began
    s3::ObjectInfo version;          ///< key, ETag and size
  };
  struct Batch {
    std::vector<Opened> opened;
    std::uint64_t lost = 0;  ///< opens that found no room, since the recording began
  };

  /// A recorder asks every second. After so long without a question it is gone.
  static constexpr std::chrono::seconds kSilenceMax{30};
  /// Opens that wait for the next question: about 20 MB.
  static constexpr std::size_t kWaitingMax = 100'000;

  explicit OpenTrace(const Clock& clock) : clock_(clock) {}

  void note(const s3::ObjectInfo& version);

  /// Begins a recording, and gives its number. Errors: kBusy: another one is under way.
  [[nodiscard]] Result<std::uint64_t> begin();
  /// The opens since the last question. Errors: kNotFound: this recording has ended.
  [[nodiscard]] Result<Batch> take(std::uint64_t recording);
  /// Does nothing where it has ended before.
  void end(std::uint64_t recording);

 private:
  [[nodiscard]] bool is_silent() const REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<bool> is_recording_{false};

  Mutex mutex_;                                     // leaf
  std::uint64_t recording_ GUARDED_BY(mutex_) = 0;  ///< the number of the last one
  std::chrono::steady_clock::time_point began_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point asked_ GUARDED_BY(mutex_);
  Batch waiting_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
