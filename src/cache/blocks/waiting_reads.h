// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cache/blocks/pending_read.h"

namespace s3rdmafs::cache {

/// Reads whose deadlines nothing else watches:
///   starved    found no memory; served one of each stream in turn, a stream's own in their order
///   impatient  wait for fills that may end later than their own deadlines
/// Other reads wait in their blocks (Block::waiters), for fills that end in time.
/// Thread-bound: BlockCache's lock guards it, except any_starved(), which any thread may call.
class WaitingReads {
 public:
  using Reads = std::vector<std::shared_ptr<PendingRead>>;

  [[nodiscard]] bool any_starved() const noexcept { return starved_count_.load() > 0; }

  void add_starved(const std::shared_ptr<PendingRead>& read);
  /// Calls `start` for the starved reads in turn until it returns false: the read found no memory,
  /// and is the first to be asked the next time.
  void retry_starved(const std::function<bool(const std::shared_ptr<PendingRead>&)>& start);
  /// Removes and returns all starved reads.
  [[nodiscard]] Reads take_starved();
  /// Removes and returns the starved reads whose deadlines have passed.
  [[nodiscard]] Reads take_late_starved(Deadline now);

  void add_impatient(const std::shared_ptr<PendingRead>& read) { impatient_.push_back(read); }
  /// Removes and returns the impatient reads whose deadlines have passed; forgets settled ones. A
  /// read without memory is not among them: it is starved again.
  [[nodiscard]] Reads take_late_impatient(Deadline now);

 private:
  // The starved reads of one stream; never empty.
  using Line = std::deque<std::shared_ptr<PendingRead>>;

  // In the order of their turns. The kernel's outstanding requests bound all of them.
  std::deque<Line> starved_;
  std::atomic<std::size_t> starved_count_{0};  // reads
  std::vector<std::weak_ptr<PendingRead>> impatient_;
};

}  // namespace s3rdmafs::cache
