// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// The metrics of ObjectCache. Thread-safe.
struct ObjectMetrics {
  /// Borrows the registry.
  explicit ObjectMetrics(metrics::Registry& registry)
      : hits(opens(registry, R"(result="resident")")),
        fetches(opens(registry, R"(result="fetch")")),
        no_room(declined(registry, R"(reason="no_room")")),
        fetch_failed(declined(registry, R"(reason="fetch_failed")")),
        no_file(declined(registry, R"(reason="no_file")")),
        being_fetched(declined(registry, R"(reason="being_fetched")")),
        late_writes(registry.counter("cache_object_quarantines_total",
                                     "Object files withheld because a late write was possible")),
        prefetches(registry.counter("cache_object_prefetches_total",
                                    "Whole objects, and parts of them, fetched before they were "
                                    "asked for")),
        spares_made(registry.counter("cache_object_spare_files_total",
                                     "Files of whole objects made ahead of need")),
        bytes(registry.gauge("cache_object_bytes", "Memory of whole objects")),
        files(registry.gauge("cache_object_files", "Files of whole objects")),
        pinned_bytes(registry.gauge("cache_object_kept_bytes",
                                    "Bytes of objects that were made resident to stay")),
        pinned_objects(
            registry.gauge("cache_object_kept", "Objects that were made resident to stay")) {}

  metrics::Counter& hits;
  metrics::Counter& fetches;
  metrics::Counter& no_room;
  metrics::Counter& fetch_failed;
  metrics::Counter& no_file;
  metrics::Counter& being_fetched;
  metrics::Counter& late_writes;
  metrics::Counter& prefetches;
  metrics::Counter& spares_made;
  metrics::Gauge& bytes;
  metrics::Gauge& files;
  metrics::Gauge& pinned_bytes;
  metrics::Gauge& pinned_objects;

 private:
  static metrics::Counter& opens(metrics::Registry& registry, std::string_view labels) {
    return registry.counter("cache_object_opens_total", "Opens of whole objects by what they found",
                            labels);
  }
  static metrics::Counter& declined(metrics::Registry& registry, std::string_view labels) {
    return registry.counter("passthrough_declined_total",
                            "Opens that were not passed through, by reason", labels);
  }
};

}  // namespace s3rdmafs::cache
