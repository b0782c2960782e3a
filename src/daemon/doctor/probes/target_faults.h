// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/mount_config.h"
#include "s3/http/http_engine.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon::doctor {

/// Injects faults into an s3rdma-target(1) that runs with --allow-fault-control. Sends requests to
/// the first endpoint, and only if that is on this host.
class TargetFaults {
 public:
  /// Borrows the clock.
  TargetFaults(const Clock& clock, const config::MountConfig::Endpoint& endpoint);

  /// Whether the endpoint is such a server. If it is, all its faults are switched off.
  [[nodiscard]] bool can_be_set();
  /// Replaces all faults; an empty text switches them off. Blocks for kQuestionTimeout at most.
  /// Errors: those of the request; kUnsupported where the server refuses.
  [[nodiscard]] Result<void> set(const std::string& lines);

 private:
  [[nodiscard]] s3::HttpOutcome ask(s3::HttpMethod method, const std::string& path,
                                    const std::string& body);

  const Clock& clock_;
  const std::string url_;
  s3::HttpEngine engine_;
};

}  // namespace s3rdmafs::daemon::doctor
