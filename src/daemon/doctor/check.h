// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
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
class Check {
 public:
  virtual ~Check() = default;
  /// Fixed and unique; shown to people and by --json: "locked memory".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The name of the check that must not have failed or been skipped before; empty: none.
  [[nodiscard]] virtual std::string_view needs() const { return {}; }
  /// Blocks for a bounded time. May store results in the context, for later checks.
  [[nodiscard]] virtual Finding run(Context& context) = 0;
};

using Checks = std::vector<std::unique_ptr<Check>>;

}  // namespace s3rdmafs::daemon::doctor
