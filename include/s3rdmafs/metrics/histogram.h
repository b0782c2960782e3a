// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace s3rdmafs::metrics {

/// The buckets of every Histogram. Up to 8 us they are 1 us wide; above, each doubling is divided
/// into eight, so a bucket is at most an eighth wider than it begins, and its middle is within 6.3
/// % of every duration in it. A duration that equals a border belongs to the bucket below, as "le"
/// of the Prometheus text wants.
class LatencyBuckets {
 public:
  static constexpr std::size_t kPerDoubling = 8;
  static constexpr unsigned kDoublings = 23;  ///< from 8 us to 67 s, longer than a deadline is
  static constexpr std::size_t kBordered = kPerDoubling * (kDoublings + 1);
  /// One more without an upper border.
  static constexpr std::size_t kCount = kBordered + 1;

  [[nodiscard]] static constexpr std::size_t index_of(std::chrono::nanoseconds duration) noexcept {
    if (duration.count() <= 0) return 0;
    const auto us = (static_cast<std::uint64_t>(duration.count()) - 1) / 1000;
    if (us < kPerDoubling) return us;
    const auto doubling = static_cast<unsigned>(std::bit_width(us)) - kFirstWidth;
    if (doubling > kDoublings) return kBordered;
    return kPerDoubling * doubling + ((us >> (doubling - 1)) & (kPerDoubling - 1));
  }

  /// Of a bucket below kBordered.
  [[nodiscard]] static constexpr std::chrono::microseconds upper_border(
      std::size_t index) noexcept {
    const std::uint64_t step = index % kPerDoubling + 1;
    if (index < kPerDoubling) return std::chrono::microseconds(step);
    return std::chrono::microseconds((kPerDoubling + step) << (index / kPerDoubling - 1));
  }

 private:
  static constexpr unsigned kFirstWidth = static_cast<unsigned>(std::bit_width(kPerDoubling)) - 1;
};

/// How often which durations were seen. Thread-safe, lock-free: record() costs two additions to
/// memory that threads on other processors mostly do not touch. A histogram that was never used
/// takes no memory for its buckets, a used one 1.6 KiB for each of up to 8 processors.
class Histogram {
 public:
  /// All that was recorded before, and of what is being recorded some. Counts of later snapshots
  /// are never smaller.
  struct Snapshot {
    std::array<std::uint64_t, LatencyBuckets::kCount> counts{};
    std::chrono::nanoseconds sum{};

    [[nodiscard]] std::uint64_t total() const noexcept;
  };

  Histogram() = default;
  ~Histogram();
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  /// Does nothing if there is no memory for the first of a processor.
  void record(std::chrono::nanoseconds duration) noexcept {
    Shard* const shard = shards_[shard_index()].load(std::memory_order_acquire);
    record_in(shard != nullptr ? shard : make_shard(), duration);
  }

  [[nodiscard]] Snapshot snapshot() const noexcept;

 private:
  static constexpr unsigned kShards = 8;  // a power of two
  static constexpr std::size_t kCacheLineBytes = 64;
  struct alignas(kCacheLineBytes) Shard {
    std::atomic<std::uint64_t> sum_ns{0};
    std::array<std::atomic<std::uint64_t>, LatencyBuckets::kCount> counts{};
  };

  [[nodiscard]] static unsigned shard_index() noexcept;
  [[nodiscard]] Shard* make_shard() noexcept;
  static void record_in(Shard* shard, std::chrono::nanoseconds duration) noexcept {
    if (shard == nullptr) return;
    shard->counts[LatencyBuckets::index_of(duration)].fetch_add(1, std::memory_order_relaxed);
    const auto ns = duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
    shard->sum_ns.fetch_add(ns, std::memory_order_relaxed);
  }

  std::array<std::atomic<Shard*>, kShards> shards_{};
};

}  // namespace s3rdmafs::metrics
