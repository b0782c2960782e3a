// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/waiting_reads.h"

#include <algorithm>

namespace s3rdmafs::cache {

void WaitingReads::add_starved(const std::shared_ptr<PendingRead>& read) {
  const auto line = std::ranges::find_if(starved_, [&](const Line& other) {
    return other.front()->object == read->object && other.front()->stream == read->stream;
  });
  if (line != starved_.end()) {
    line->push_back(read);
  } else {
    starved_.push_back({read});
  }
  ++starved_count_;
}

void WaitingReads::retry_starved(
    const std::function<bool(const std::shared_ptr<PendingRead>&)>& start) {
  while (!starved_.empty() && start(starved_.front().front())) {
    Line line = std::move(starved_.front());
    starved_.pop_front();
    line.pop_front();
    if (!line.empty()) starved_.push_back(std::move(line));
    --starved_count_;
  }
}

WaitingReads::Reads WaitingReads::take_starved() { return take_late_starved(Deadline::max()); }

WaitingReads::Reads WaitingReads::take_late_starved(Deadline now) {
  Reads late;
  for (Line& line : starved_) {
    std::erase_if(line, [&](const std::shared_ptr<PendingRead>& read) {
      if (now < read->deadline) return false;
      late.push_back(read);
      return true;
    });
  }
  std::erase_if(starved_, [](const Line& line) { return line.empty(); });
  starved_count_ -= late.size();
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
