// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/doctor/check.h"

namespace s3rdmafs::daemon::doctor {

/// Exit statuses of `s3rdmafs doctor`; daemon/cli/verbs.h has those of its own failures.
inline constexpr int kExitPass = 0;
inline constexpr int kExitDegraded = 1;
inline constexpr int kExitFail = 2;

/// One check that was run or skipped.
struct Entry {
  std::string name;
  Finding finding;
  double seconds = 0;  ///< the time that the check took
};
using Report = std::vector<Entry>;

/// Runs the checks in order, and adds what they find to the report. A check is skipped where the
/// one that it needs failed or was skipped; its finding names the check that failed.
[[nodiscard]] Report run_checks(const Checks& checks, Context& context, Report report = {});

/// The exit status of the worst finding.
[[nodiscard]] int exit_status(const Report& report);

[[nodiscard]] std::string_view level_name(Level level);  ///< "pass", "degraded", ...

/// The facts that every report has of a check: name, level, what was seen, advice.
[[nodiscard]] toml::table entry_facts(const Entry& entry);

/// A line for each finding and one for its advice; the last line is the verdict.
[[nodiscard]] std::string to_text(const Report& report);
/// One JSON object, see s3rdmafs(1).
[[nodiscard]] std::string to_json(const Report& report);

/// "pass", "degraded" or "fail".
[[nodiscard]] std::string_view verdict_name(const Report& report);

}  // namespace s3rdmafs::daemon::doctor
