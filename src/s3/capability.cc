// SPDX-License-Identifier: Apache-2.0
#include "s3/capability.h"

namespace s3rdmafs::s3 {

bool Capability::should_try() {
  const MutexLock lock(mutex_);
  if (state_ == State::kUnknown || state_ == State::kWorks) return true;
  const auto now = clock_.now();
  if (now < probe_at_) return false;
  probe_at_ = now + kProbeInterval;  // this one asks; the others wait for its answer
  return true;
}

bool Capability::is_worth_trying() const {
  const MutexLock lock(mutex_);
  return state_ == State::kUnknown || state_ == State::kWorks || clock_.now() >= probe_at_;
}

void Capability::on_rdma_done() {
  const MutexLock lock(mutex_);
  state_ = State::kWorks;
  body_answers_ = 0;
  failures_ = 0;
}

void Capability::on_body_answer() {
  const MutexLock lock(mutex_);
  failures_ = 0;
  if (state_ == State::kWorks && ++body_answers_ < kBodyAnswersMax) return;
  give_up(State::kDeclines);
}

void Capability::on_declined() {
  const MutexLock lock(mutex_);
  give_up(State::kDeclines);
}

void Capability::on_transfer_failed() {
  const MutexLock lock(mutex_);
  if (++failures_ >= kFailuresMax) give_up(State::kDeclines);
}

void Capability::on_token_rejected() {
  const MutexLock lock(mutex_);
  give_up(State::kRejectsTokens);
}

Capability::State Capability::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

void Capability::give_up(State state) {
  state_ = state;
  body_answers_ = 0;
  failures_ = 0;
  probe_at_ = clock_.now() + kProbeInterval;
}

}  // namespace s3rdmafs::s3
