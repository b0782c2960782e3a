// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace s3rdmafs::daemon::doctor {

struct Context;

/// How a check ended, from best to worst; kSkipped is not a verdict.
enum class Level {
  kPass,
  kNote,      ///< worth knowing; the mount works as asked
  kDegraded,  ///< a mount works, but over HTTP, slower, or with fewer guarantees
  kFail,      ///< a mount fails
  kSkipped,   ///< not checked; `seen` gives the reason
};

/// The result of one check.
struct Finding {
  Level level = Level::kPass;
  std::string seen;    ///< the observation, one line
  std::string advice;  ///< the remedy, one line; empty: none is needed
  /// The grounds of the verdict, for the full report: names, texts and numbers; no secret.
  toml::table evidence = {};
};

/// Checks one thing that a mount needs. Checks run one after another on one thread.
struct Check {
  std::string_view name;   ///< fixed and unique; shown to people and by --json: "locked memory"
  std::string_view needs;  ///< the check that must not have failed or been skipped; empty: none
  /// Blocks for a bounded time. May store results in the context, for later checks.
  std::function<Finding(Context& context)> run;
};

using Checks = std::vector<Check>;

}  // namespace s3rdmafs::daemon::doctor
