// SPDX-License-Identifier: Apache-2.0
#include "vfs/files/open_trace.h"

#include <utility>

namespace s3rdmafs::vfs {

bool OpenTrace::is_silent() const { return clock_.now() - asked_ > kSilenceMax; }

void OpenTrace::note(const s3::ObjectInfo& version) {
  if (!is_recording_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mutex_);
  if (!is_recording_) return;
  if (is_silent()) {
    is_recording_ = false;
    waiting_ = {};
    return;
  }
  if (waiting_.opened.size() >= kWaitingMax) {
    ++waiting_.lost;
    return;
  }
  const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - began_);
  waiting_.opened.push_back({.at = at,
                             .version = {.key = version.key,
                                         .etag = version.etag,
                                         .size_bytes = version.size_bytes,
                                         .modified = {}}});
}

Result<std::uint64_t> OpenTrace::begin() {
  const MutexLock lock(mutex_);
  if (is_recording_ && !is_silent()) {
    return fail(ErrorCode::kBusy, "another recording of this mount is under way");
  }
  began_ = asked_ = clock_.now();
  waiting_ = {};
  is_recording_ = true;
  return ++recording_;
}

Result<OpenTrace::Batch> OpenTrace::take(std::uint64_t recording) {
  const MutexLock lock(mutex_);
  if (!is_recording_ || recording != recording_) {
    return fail(ErrorCode::kNotFound, "the recording has ended");
  }
  asked_ = clock_.now();
  Batch taken = std::exchange(waiting_, {});
  waiting_.lost = taken.lost;
  return taken;
}

void OpenTrace::end(std::uint64_t recording) {
  const MutexLock lock(mutex_);
  if (recording != recording_) return;
  is_recording_ = false;
  waiting_ = {};
}

}  // namespace s3rdmafs::vfs
