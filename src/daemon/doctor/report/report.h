// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/doctor/check.h"

namespace s3rdmafs::daemon::doctor {

/// Exit statuses of `s3rdmafs doctor`. Its usage errors have one of their own (verbs.h).
inline constexpr int kExitPass = 0;
inline constexpr int kExitDegraded = 1;
inline constexpr int kExitFail = 2;

struct Entry {
  std::string name;
  Finding finding;
  double seconds = 0;  ///< that the check took
};
using Report = std::vector<Entry>;

/// Runs the checks in order. One whose need failed or was skipped is skipped, and says because of
/// which.
[[nodiscard]] Report run_checks(const Checks& checks, Context& context);

/// The worst finding decides.
[[nodiscard]] int exit_status(const Report& report);

[[nodiscard]] std::string_view level_name(Level level);  ///< "pass", "degraded", ...

/// A line for each finding and one for its advice; the last line is the verdict.
[[nodiscard]] std::string to_text(const Report& report);
/// One object, see s3rdmafs(1).
[[nodiscard]] std::string to_json(const Report& report);

/// "pass", "degraded" or "fail".
[[nodiscard]] std::string_view verdict_name(const Report& report);

}  // namespace s3rdmafs::daemon::doctor
