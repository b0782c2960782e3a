// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "target/faults/fault.h"

namespace s3rdmafs::target {

/// The faults that strike one request.
class FaultPlan {
 public:
  void add(const Fault& fault) {
    arguments_.at(static_cast<std::size_t>(fault.kind)) = fault.argument;
  }
  [[nodiscard]] bool has(FaultKind kind) const { return argument(kind).has_value(); }
  /// Its argument, if it is to happen.
  [[nodiscard]] std::optional<std::int64_t> argument(FaultKind kind) const {
    return arguments_.at(static_cast<std::size_t>(kind));
  }

 private:
  std::array<std::optional<std::int64_t>, kFaultKinds> arguments_{};
};

/// The faults that are switched on. A request asks once for its faults, so that a
/// change in mid-request changes nothing for it. Thread-safe.
class Faults {
 public:
  explicit Faults(metrics::Registry& registry) : registry_(registry) {}

  /// Replaces the faults that were switched on; counting begins again.
  void replace(const std::vector<Fault>& faults) EXCLUDES(mutex_);
  /// The same from one text, a fault a line. Errors: as parse_fault; then nothing changes.
  [[nodiscard]] Result<void> replace_by_text(std::string_view lines) EXCLUDES(mutex_);

  /// Counts the request and gives the faults that strike it.
  [[nodiscard]] FaultPlan plan(FaultOperation operation) EXCLUDES(mutex_);

  /// Sleeps for a delay that a plan asks for, or until stop().
  void wait(std::chrono::milliseconds delay) EXCLUDES(mutex_);
  /// Ends all waits, because the server ends.
  void stop() EXCLUDES(mutex_);

 private:
  struct Active {
    Fault fault;
    std::uint64_t requests_seen = 0;  ///< of its operation
  };

  metrics::Registry& registry_;
  Mutex mutex_;  // leaf
  CondVar stopped_;
  std::vector<Active> active_ GUARDED_BY(mutex_);
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::target
