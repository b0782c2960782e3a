// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/waiting_reads.h"

namespace s3rdmafs::cache {

void WaitingReads::add_starved(const std::shared_ptr<PendingRead>& read) {
  starved_.push_back(read);
  starved_count_.store(starved_.size());
}

void WaitingReads::retry_starved(
    const std::function<bool(const std::shared_ptr<PendingRead>&)>& start) {
  while (!starved_.empty() && start(starved_.front())) starved_.pop_front();
  starved_count_.store(starved_.size());
}

WaitingReads::Reads WaitingReads::take_starved() { return take_late_starved(Deadline::max()); }

WaitingReads::Reads WaitingReads::take_late_starved(Deadline now) {
  Reads late;
  std::erase_if(starved_, [&](const std::shared_ptr<PendingRead>& read) {
    if (now < read->deadline) return false;
    late.push_back(read);
    return true;
  });
  starved_count_.store(starved_.size());
  return late;
}

WaitingReads::Reads WaitingReads::take_late_impatient(Deadline now) {
  Reads late;
  for (auto& waiting : std::exchange(impatient_, {})) {
    std::shared_ptr<PendingRead> read = waiting.lock();
    if (!read || read->is_settled) continue;
    if (now < read->deadline) {
      impatient_.push_back(std::move(waiting));
    } else if (read->part_count > 0) {
      late.push_back(std::move(read));
    }
  }
  return late;
}

}  // namespace s3rdmafs::cache
