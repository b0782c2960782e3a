// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// The metrics of BlockCache. Thread-safe.
struct BlockMetrics {
  /// Borrows the registry.
  explicit BlockMetrics(metrics::Registry& registry)
      : hits(registry.counter("cache_reads_total", "Reads by what they found", R"(result="hit")")),
        waits(
            registry.counter("cache_reads_total", "Reads by what they found", R"(result="wait")")),
        demand_bytes(registry.counter("cache_fill_bytes_total", "Bytes asked of the store by cause",
                                      R"(cause="demand")")),
        read_ahead_bytes(registry.counter("cache_fill_bytes_total",
                                          "Bytes asked of the store by cause",
                                          R"(cause="read_ahead")")),
        quarantines(registry.counter("cache_quarantines_total",
                                     "Slabs withheld because a late write was possible")),
        size_bytes(registry.gauge("cache_size_bytes", "Registered memory")),
        pins(registry.gauge("cache_pins", "Blocks held by reads and replies")),
        fills_in_flight(registry.gauge("cache_fills_in_flight", "GETs into the cache under way")),
        reads_waiting(registry.gauge("cache_reads_waiting", "Reads that wait for bytes or memory")),
        slabs_free(registry.gauge("cache_slabs", "Slabs by state", R"(state="free")")),
        slabs_quarantined(
            registry.gauge("cache_slabs", "Slabs by state", R"(state="quarantined")")) {}

  metrics::Counter& hits;
  metrics::Counter& waits;
  metrics::Counter& demand_bytes;
  metrics::Counter& read_ahead_bytes;
  metrics::Counter& quarantines;
  metrics::Gauge& size_bytes;
  metrics::Gauge& pins;
  metrics::Gauge& fills_in_flight;
  metrics::Gauge& reads_waiting;
  metrics::Gauge& slabs_free;
  metrics::Gauge& slabs_quarantined;
};

}  // namespace s3rdmafs::cache
