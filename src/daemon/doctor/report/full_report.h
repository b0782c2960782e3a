// SPDX-License-Identifier: Apache-2.0
// The report that users send with a question: everything that doctor found, without secrets.
#pragma once

#include <string>
#include <vector>

#include "daemon/doctor/context.h"
#include "daemon/doctor/report/report.h"

namespace s3rdmafs::daemon::doctor {

/// The report as one JSON object, see s3rdmafs-doctor(7). Settings are those of `s3rdmafs config`;
/// "********" replaces the mount's secrets everywhere.
/// @param version  of s3rdmafs
[[nodiscard]] std::string full_report(const Report& report, const Context& context,
                                      const std::string& version);

/// The secrets of the mount and of each of its buckets: keys, session tokens and DC keys.
[[nodiscard]] std::vector<std::string> secrets_of(const Context& context);

/// `text` with "********" in place of each secret.
[[nodiscard]] std::string redacted(std::string text, const std::vector<std::string>& secrets);

}  // namespace s3rdmafs::daemon::doctor
