// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/condition_support.h"

namespace s3rdmafs::s3 {

bool ConditionSupport::compares(ConditionKind kind) const {
  return state(kind) == State::kCompares;
}

bool ConditionSupport::refuses(ConditionKind kind) const { return state(kind) == State::kRefuses; }

// An empty PUT whose condition cannot hold is harmless for a key that does not exist. A copy would
// move bytes, the completion of an upload needs one, and Amazon S3 answers a DELETE of a key that
// does not exist with success, whatever its condition.
bool ConditionSupport::begin_probe(ConditionKind kind) {
  if (kind != ConditionKind::kPut) return false;
  const MutexLock lock(mutex_);
  State& state = states_.at(static_cast<std::size_t>(kind));
  if (state != State::kUnknown) return false;
  state = State::kProbing;
  return true;
}

void ConditionSupport::on_compared(ConditionKind kind) { enter(kind, State::kCompares); }
void ConditionSupport::on_ignored(ConditionKind kind) { enter(kind, State::kIgnores); }
void ConditionSupport::on_refused(ConditionKind kind) { enter(kind, State::kRefuses); }
void ConditionSupport::on_probe_lost(ConditionKind kind) { enter(kind, State::kUnknown); }

ConditionSupport::State ConditionSupport::state(ConditionKind kind) const {
  const MutexLock lock(mutex_);
  return states_.at(static_cast<std::size_t>(kind));
}

void ConditionSupport::enter(ConditionKind kind, State state) {
  const MutexLock lock(mutex_);
  states_.at(static_cast<std::size_t>(kind)) = state;
}

}  // namespace s3rdmafs::s3
