// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3/request_times.h"
#include "s3/wire/operation.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::s3 {

/// The object client's counters, looked up once. Thread-safe.
class StoreMetrics {
 public:
  using Operation = s3::Operation;

  /// @param fabric  the name of the one that tokens are of; static
  StoreMetrics(metrics::Registry& registry, std::string_view fabric);

  [[nodiscard]] metrics::Counter& requests(Operation operation) {
    return *requests_.at(static_cast<std::size_t>(operation));
  }

  /// An attempt was not answered, or the server answered with an error that may pass.
  void on_attempt_failed(ErrorCode code);

  /// A transfer could not go by RDMA although the mount file asks for it. Only the first one for
  /// each reason and endpoint is logged, so that a million of them do not fill the log.
  /// @param reason  a fixed word, the label of the counter
  /// @param detail  for the log
  void on_fallback(std::string_view reason, std::string_view endpoint, std::string_view detail);

  metrics::Counter& bytes_by_rdma;
  metrics::Counter& bytes_by_http;
  metrics::Counter& put_bytes_by_rdma;
  metrics::Counter& put_bytes_by_http;
  metrics::Counter& puts_stored_wrong;
  metrics::Counter& verified;
  metrics::Counter& verify_failures;
  metrics::Counter& verified_puts;
  metrics::Counter& put_verify_failures;
  metrics::Counter& retries;
  metrics::Counter& retries_refused;
  metrics::Gauge& in_flight;
  RequestTimes times;

 private:
  metrics::Registry& registry_;
  std::vector<metrics::Counter*> requests_;

  Mutex mutex_;  // leaf
  std::set<std::pair<std::string, std::string>> logged_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
