// SPDX-License-Identifier: Apache-2.0
#include "target/faults/faults.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {

void Faults::replace(const std::vector<Fault>& faults) {
  const MutexLock lock(mutex_);
  active_.clear();
  for (const Fault& fault : faults) active_.push_back({.fault = fault});
}

Result<void> Faults::replace_by_text(std::string_view lines) {
  std::vector<Fault> faults;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.empty()) continue;
    auto fault = parse_fault(line);
    if (!fault) return std::unexpected(fault.error());
    faults.push_back(*fault);
  }
  replace(faults);
  return {};
}

FaultPlan Faults::plan(FaultOperation operation) {
  FaultPlan plan;
  const MutexLock lock(mutex_);
  for (Active& active : active_) {
    const Fault& fault = active.fault;
    if (fault.operation.value_or(operation) != operation) continue;
    if (!fault.strikes(++active.requests_seen)) continue;
    plan.add(fault);
    registry_
        .counter("target_faults_total", "Faults that were switched on and struck a request",
                 fmt::format(R"(kind="{}")", fault_name(fault.kind)))
        .add();
  }
  return plan;
}

void Faults::wait(std::chrono::milliseconds delay) {
  const auto end = std::chrono::steady_clock::now() + delay;
  const MutexLock lock(mutex_);
  while (!is_stopped_ && stopped_.wait_until(mutex_, end)) {
  }
}

void Faults::stop() {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  stopped_.notify_all();
}

}  // namespace s3rdmafs::target
