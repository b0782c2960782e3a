// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/mount_config.h"
#include "s3/http/http_engine.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon::doctor {

/// The faults of an s3rdma-target(1) with --allow-fault-control. Asks the first endpoint, and only
/// on this host: no other server is sent such a request.
class TargetFaults {
 public:
  /// Borrows the clock.
  TargetFaults(const Clock& clock, const config::MountConfig::Endpoint& endpoint);

  /// Whether the endpoint is such a server, which then has no fault switched on any more.
  [[nodiscard]] bool can_be_set();
  /// Takes the place of all faults; empty: none. Waits, at most kQuestionTimeout.
  /// Errors: of the request; kUnsupported where the server will not.
  [[nodiscard]] Result<void> set(const std::string& lines);

 private:
  [[nodiscard]] s3::HttpOutcome ask(s3::HttpMethod method, const std::string& path,
                                    const std::string& body);

  const Clock& clock_;
  const std::string url_;
  s3::HttpEngine engine_;
};

}  // namespace s3rdmafs::daemon::doctor
