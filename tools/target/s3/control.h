// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "target/http/message.h"
#include "target/s3/services.h"

namespace s3rdmafs::target {

/// Requests to the server itself, from this host only and without a signature:
///
///   GET  /.s3rdma-target/metrics   its numbers, as Prometheus has them
///   POST /.s3rdma-target/faults    the body's faults, one a line, in place of those switched on;
///                                  only where Services::has_fault_control
///
/// Nothing for every other request: it is S3's.
[[nodiscard]] std::unique_ptr<Exchange> begin_control(const Services& services,
                                                      const Request& request);

}  // namespace s3rdmafs::target
