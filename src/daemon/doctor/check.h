// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace s3rdmafs::daemon::doctor {

struct Context;

/// How a check ended, worst last but for kSkipped, which is no verdict.
enum class Level {
  kPass,
  kNote,      ///< worth knowing; nothing is lost
  kDegraded,  ///< a mount works, but over HTTP, slower, or with less than it promises
  kFail,      ///< a mount fails
  kSkipped,   ///< not looked at; `seen` says why
};

/// What one check found.
struct Finding {
  Level level = Level::kPass;
  std::string seen;    ///< one line
  std::string advice;  ///< what to do, one line; empty: nothing
  /// What the verdict rests on, for the report; no secret. A tree of names, texts and numbers.
  toml::table evidence = {};
};

/// One thing a mount needs. Checks run one after another, on one thread.
class Check {
 public:
  virtual ~Check() = default;
  /// Fixed, unique, for people and for --json: "locked memory".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The check without which this one makes no sense; empty: none.
  [[nodiscard]] virtual std::string_view needs() const { return {}; }
  /// Bounded. May leave in the context what later checks build on.
  [[nodiscard]] virtual Finding run(Context& context) = 0;
};

using Checks = std::vector<std::unique_ptr<Check>>;

}  // namespace s3rdmafs::daemon::doctor
