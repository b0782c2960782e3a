// SPDX-License-Identifier: Apache-2.0
#include "vfs/staged/turns.h"

#include <utility>

namespace s3rdmafs::vfs {

bool Turns::may_run(const Turn& turn) const {
  return !is_alone_ && (!turn.is_alone || shared_ == 0);
}

void Turns::begin(const Turn& turn) {
  if (turn.is_alone) {
    is_alone_ = true;
  } else {
    ++shared_;
  }
}

void Turns::take(Turn turn) {
  {
    const MutexLock lock(mutex_);
    if (!waiting_.empty() || !may_run(turn)) return waiting_.push_back(std::move(turn));
    begin(turn);
  }
  turn.work();
}

bool Turns::try_share() {
  const MutexLock lock(mutex_);
  if (is_alone_ || !waiting_.empty()) return false;
  ++shared_;
  return true;
}

void Turns::end() {
  {
    const MutexLock lock(mutex_);
    if (is_alone_) {
      is_alone_ = false;
    } else {
      --shared_;
    }
    if (std::exchange(is_beginning_, true)) return;  // that thread looks again
  }
  while (auto work = take_next()) (*work)();
}

std::optional<Turns::Work> Turns::take_next() {
  const MutexLock lock(mutex_);
  if (waiting_.empty() || !may_run(waiting_.front())) {
    is_beginning_ = false;
    return std::nullopt;
  }
  begin(waiting_.front());
  Work work = std::move(waiting_.front().work);
  waiting_.pop_front();
  return work;
}

bool Turns::is_held() const {
  const MutexLock lock(mutex_);
  return is_alone_ || !waiting_.empty();
}

}  // namespace s3rdmafs::vfs
