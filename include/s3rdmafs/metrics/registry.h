// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/histogram.h"

namespace s3rdmafs::metrics {

/// A number that only grows. Thread-safe, lock-free.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A number that goes up and down. Thread-safe, lock-free.
class Gauge {
 public:
  void add(std::int64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void set(std::int64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> value_{0};
};

/// `name="value"` as Prometheus text has it; any value is allowed.
[[nodiscard]] std::string label_text(std::string_view name, std::string_view value);

/// All counters, gauges and histograms of one mount. Two requests for the same name and labels give
/// the same object, which lives as long as the registry. Thread-safe, but a request takes a lock
/// and searches a list: make it at construction, not on a hot path.
class Registry {
 public:
  Registry() = default;
  /// A part of `whole`, which has to outlive it: what is made through it has these labels besides
  /// its own, and is in the text of `whole`, to whose end it lives. A part has no text.
  Registry(Registry& whole, std::string labels) : whole_(&whole), part_labels_(std::move(labels)) {}

  /// @param name    without the "s3rdmafs_" prefix; counters end in "_total", bytes in "_bytes"
  /// @param labels  Prometheus text without braces, e.g. `path="rdma"`, or empty
  Counter& counter(std::string_view name, std::string_view help, std::string_view labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels = {});
  /// @param name  ends in "_seconds"
  Histogram& histogram(std::string_view name, std::string_view help, std::string_view labels = {});

  /// Prometheus text exposition format 0.0.4. A histogram is shown from its first duration on, and
  /// of its buckets those that have one and the one below each: as counts only grow, a bucket that
  /// was shown once is shown always.
  [[nodiscard]] std::string prometheus_text() const;

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Entry {
    std::string name, help, labels;
    Kind kind = Kind::kCounter;
    Counter counter;
    Gauge gauge;
    Histogram histogram;
  };
  Entry& find_or_add(std::string_view name, std::string_view help, std::string_view labels,
                     Kind kind);
  static void add_samples(const Entry& entry, std::string& text);

  Registry* whole_ = nullptr;  // null: this is the whole
  std::string part_labels_;
  mutable Mutex mutex_;                           // leaf
  std::deque<Entry> entries_ GUARDED_BY(mutex_);  // a deque: addresses must not move
};

}  // namespace s3rdmafs::metrics
