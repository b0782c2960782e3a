// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::target {

/// The numbers of the server. Thread-safe.
class Traffic {
 public:
  explicit Traffic(metrics::Registry& registry);

  /// One answered request. `operation` as S3 names it: "GetObject".
  void count_request(std::string_view operation, int status);

  /// A transfer that a fault put off until its client had been cut off.
  /// @param is_done  false: the client's memory could not be reached any more
  void count_late_transfer(bool is_done);

  metrics::Counter& http_received_bytes;
  metrics::Counter& http_sent_bytes;
  metrics::Counter& rdma_read_bytes;     ///< out of clients' memory (PUT)
  metrics::Counter& rdma_written_bytes;  ///< into clients' memory (GET)

  [[nodiscard]] std::string prometheus_text() const { return registry_.prometheus_text(); }

 private:
  metrics::Registry& registry_;
};

}  // namespace s3rdmafs::target
