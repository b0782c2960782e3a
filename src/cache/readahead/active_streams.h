// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace s3rdmafs::cache {

/// How many streams read at this time, over all objects. Each stream counts itself once a period,
/// so that a stream counts for one to two periods after its last read. Thread-safe, and takes no
/// lock: every read asks.
class ActiveStreams {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// A reader that computes between its reads still counts; one that has ended soon does not.
  static constexpr std::chrono::milliseconds kPeriod{1000};

  /// The number of the period that `now` lies in; never 0.
  [[nodiscard]] static std::uint64_t period_of(Time now) {
    return static_cast<std::uint64_t>(now.time_since_epoch() / kPeriod) + 1;
  }

  /// Counts one stream more in this period. Does nothing in a period that is long over.
  void add(std::uint64_t period) {
    std::atomic<std::uint64_t>& slot = slots_.at(period % slots_.size());
    std::uint64_t old = slot.load();
    while (period_in(old) <= period) {
      const std::uint64_t wanted = period_in(old) == period ? old + 1 : pack(period, 1);
      if (slot.compare_exchange_weak(old, wanted)) return;
    }
  }

  /// In which periods one stream was counted: the newest, 0 for none, and maybe the one before.
  struct Counted {
    std::uint64_t period = 0;
    bool was_before = false;
  };
  /// A stream that has ended no longer counts.
  void remove(const Counted& counted) {
    if (counted.period == 0) return;
    remove(counted.period);
    if (counted.was_before) remove(counted.period - 1);
  }

  [[nodiscard]] std::uint64_t count(Time now) const {
    const std::uint64_t period = period_of(now);
    return std::max(count_in(period), count_in(period - 1));
  }

 private:
  // A period and its count in one word: the count in the low bits.
  static constexpr unsigned kCountBits = 24;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

  [[nodiscard]] static std::uint64_t pack(std::uint64_t period, std::uint64_t count) {
    return period << kCountBits | count;
  }
  [[nodiscard]] static std::uint64_t period_in(std::uint64_t word) { return word >> kCountBits; }

  void remove(std::uint64_t period) {
    std::atomic<std::uint64_t>& slot = slots_.at(period % slots_.size());
    std::uint64_t old = slot.load();
    while (period_in(old) == period && (old & kCountMask) > 0) {
      if (slot.compare_exchange_weak(old, old - 1)) return;
    }
  }

  [[nodiscard]] std::uint64_t count_in(std::uint64_t period) const {
    const std::uint64_t word = slots_.at(period % slots_.size()).load();
    return period_in(word) == period ? word & kCountMask : 0;
  }

  std::array<std::atomic<std::uint64_t>, 2> slots_{};
};

}  // namespace s3rdmafs::cache
