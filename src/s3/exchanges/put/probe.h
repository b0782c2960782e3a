// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "s3/endpoints/endpoint.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// The question of a probe: whether `endpoint` reads our memory by RDMA. The probe stores something
/// small out of the caller's memory, which it removes again.
struct ProbeRequest {
  Endpoint* endpoint = nullptr;
  std::string key;  ///< of the object that is to be stored after the probe
  PutBody body;     ///< what the probe stores; kept alive and unchanged until the probe has ended
  Deadline deadline;
};

/// How a probe ended. Its findings are in the endpoint's Capabilities.
struct Probed {
  Result<void> result;    ///< an error: the endpoint is still not known to read
  bool was_sent = false;  ///< with a token; false: an earlier step of the probe failed
  bool late_read_possible = false;
  bool has_fabric = true;
};
using ProbedDone = std::move_only_function<void(Probed)>;

}  // namespace s3rdmafs::s3
