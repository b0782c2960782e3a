// SPDX-License-Identifier: Apache-2.0
// The report that is sent with a question: everything that doctor knows, without secrets.
#pragma once

#include <string>
#include <vector>

#include "daemon/doctor/context.h"
#include "daemon/doctor/report/report.h"

namespace s3rdmafs::daemon::doctor {

/// One JSON object, see s3rdmafs-doctor(7). Settings as `s3rdmafs config` prints them; wherever
/// else one of the mount's secrets stands, "********" takes its place.
/// @param version  of s3rdmafs
[[nodiscard]] std::string full_report(const Report& report, const Context& context,
                                      const std::string& version);

/// What must not leave this machine: the mount's keys, session token and DC key.
[[nodiscard]] std::vector<std::string> secrets_of(const Context& context);

/// `text` with "********" in place of each secret.
[[nodiscard]] std::string redacted(std::string text, const std::vector<std::string>& secrets);

}  // namespace s3rdmafs::daemon::doctor
