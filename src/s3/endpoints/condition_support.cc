// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/condition_support.h"

namespace s3rdmafs::s3 {

bool ConditionSupport::compares(ConditionKind kind, Header header) const {
  return state(kind, header) == State::kCompares;
}

bool ConditionSupport::refuses(ConditionKind kind, Header header) const {
  return state(kind, header) == State::kRefuses;
}

// An empty PUT whose condition cannot hold is harmless for a key that does not exist. A copy would
// move bytes, the completion of an upload needs one, and Amazon S3 answers a DELETE of a key that
// does not exist with success, whatever its condition.
bool ConditionSupport::begin_probe(ConditionKind kind) {
  if (kind != ConditionKind::kPut) return false;
  const MutexLock lock(mutex_);
  State& state = states_.at(static_cast<std::size_t>(kind)).matches;
  if (state != State::kUnknown) return false;
  state = State::kProbing;
  return true;
}

void ConditionSupport::on_compared(ConditionKind kind, Header header) {
  enter(kind, header, State::kCompares);
  if (header == Header::kMatches) enter(kind, Header::kAbsent, State::kCompares);
}

void ConditionSupport::on_ignored(ConditionKind kind, Header header) {
  enter(kind, header, State::kIgnores);
}

void ConditionSupport::on_refused(ConditionKind kind, Header header) {
  enter(kind, header, State::kRefuses);
}

void ConditionSupport::on_probe_lost(ConditionKind kind) {
  enter(kind, Header::kMatches, State::kUnknown);
}

ConditionSupport::State ConditionSupport::state(ConditionKind kind, Header header) const {
  const MutexLock lock(mutex_);
  const States& states = states_.at(static_cast<std::size_t>(kind));
  return header == Header::kAbsent ? states.absent : states.matches;
}

void ConditionSupport::enter(ConditionKind kind, Header header, State state) {
  const MutexLock lock(mutex_);
  States& states = states_.at(static_cast<std::size_t>(kind));
  (header == Header::kAbsent ? states.absent : states.matches) = state;
}

}  // namespace s3rdmafs::s3
