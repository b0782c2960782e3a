// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/capability.h"

#include <algorithm>

namespace s3rdmafs::s3 {

bool Capability::should_try(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (is_believed(bytes)) return true;
  const auto now = clock_.now();
  if (now < probe_at_) return false;
  probe_at_ = now + kProbeInterval;  // this request asks for all
  return true;
}

bool Capability::is_worth_trying(std::uint64_t bytes) const {
  const MutexLock lock(mutex_);
  return is_believed(bytes) || clock_.now() >= probe_at_;
}

bool Capability::is_believed(std::uint64_t bytes) const {
  return state_ == State::kUnknown || state_ == State::kWorks || bytes > no_up_to_bytes_;
}

void Capability::on_rdma_done(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  state_ = State::kWorks;
  rdma_bytes_min_ = std::min(rdma_bytes_min_, bytes);
  body_answers_ = 0;
  failures_ = 0;
}

void Capability::on_body_answer(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  failures_ = 0;
  if (state_ == State::kWorks) {
    if (bytes < rdma_bytes_min_ || ++body_answers_ < kBodyAnswersMax) return;
    return give_up(State::kDeclines);
  }
  const bool knew_less = state_ == State::kDeclines && no_up_to_bytes_ != kAnyLength;
  give_up(State::kDeclines, knew_less ? std::max(bytes, no_up_to_bytes_) : bytes);
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

void Capability::give_up(State state, std::uint64_t up_to_bytes) {
  state_ = state;
  no_up_to_bytes_ = up_to_bytes;
  body_answers_ = 0;
  failures_ = 0;
  probe_at_ = clock_.now() + kProbeInterval;
}

}  // namespace s3rdmafs::s3
