// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "s3/endpoints/capabilities.h"
#include "s3/endpoints/checksum_support.h"
#include "s3/endpoints/condition_support.h"
#include "s3/endpoints/path_model.h"
#include "s3/endpoints/rename_support.h"
#include "s3/wire/request.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::s3 {

/// One server of the store: its address, and what was learned about it. Each server is judged
/// alone. Thread-safe.
struct Endpoint {
  /// Borrows credentials, clock and metrics.
  Endpoint(std::size_t number, const BucketAddress& address, CredentialSource& credentials,
           const Clock& clock, metrics::Registry& metrics);

  const std::size_t number;   ///< its index in endpoint.urls
  std::size_t fabric_number;  ///< by which the fabric knows it; set before the first request
  RequestBuilder builder;
  Capabilities capabilities;
  ChecksumSupport checksums;
  ConditionSupport conditions;
  RenameSupport renames;
  PathModel read_paths;
  PathModel write_paths;
  /// It could not be reached since the last RDMA transfer looked: its sessions may be gone.
  std::atomic<bool> may_have_restarted{false};

  metrics::Counter& requests;
  metrics::Counter& failures;
  metrics::Counter& given_up;
  metrics::Gauge& outstanding_bytes;
  metrics::Gauge& is_alive;
};

}  // namespace s3rdmafs::s3
