// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "s3/endpoints/capabilities.h"
#include "s3/endpoints/checksum_support.h"
#include "s3/endpoints/path_model.h"
#include "s3/wire/request.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::s3 {

/// One server of the store: how it is addressed, and what was learned about it. A server that does
/// no RDMA says nothing about the others. Thread-safe.
struct Endpoint {
  /// Borrows credentials, clock and metrics.
  Endpoint(std::size_t number, const BucketAddress& address, CredentialSource& credentials,
           const Clock& clock, metrics::Registry& metrics);

  const std::size_t number;  ///< as in endpoint.urls, from 0; the fabric's name for it too
  RequestBuilder builder;
  Capabilities capabilities;
  ChecksumSupport checksums;
  PathModel read_paths;
  PathModel write_paths;
  /// It could not be reached since an RDMA transfer last asked: its sessions may be gone.
  std::atomic<bool> may_have_restarted{false};

  metrics::Counter& requests;
  metrics::Counter& failures;
  metrics::Counter& given_up;
  metrics::Gauge& outstanding_bytes;
  metrics::Gauge& is_alive;
};

}  // namespace s3rdmafs::s3
