// SPDX-License-Identifier: Apache-2.0
// Parts of a file that are sent while it is still written.
//
// Why the local file keeps them. As long as there is room, nothing is lost by a program that comes
// back: what it changes is sent again. Only when the area is full are parts dropped that the server
// has; S3 does not read parts of an upload under way, so they are out of reach until the store.
//
// A part may be dropped if no byte of it has changed since it began to be read: then the server has
// what the local file has. Whole parts are dropped, so that any other can be sent again.
//
// Order. The sidecar is told first: after a crash the file is not taken for whole.
//
// Locks. As in staging_file.cc.
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"
#include "upload/staged/staging_file.h"

namespace s3rdmafs::upload {

StagingFile::InOrder StagingFile::in_order() const {
  const MutexLock lock(mutex_);
  const bool is_it = is_in_order_ && !state_.is_whole && !storing_ && !is_removed_;
  return {.run = run_, .size_bytes = is_it ? state_.size_bytes : 0};
}

void StagingFile::begin_run() {
  ++run_;
  is_in_order_ = true;
  as_sent_.clear();
}

bool StagingFile::begin_part(ByteRange bytes, std::uint64_t run) {
  const MutexLock lock(mutex_);
  if (run != run_ || storing_ || is_removed_ || !state_.changed.contains(bytes)) return false;
  as_sent_.add(bytes);
  return true;
}

Result<bool> StagingFile::drop_sent(ByteRange part, std::uint64_t run,
                                    std::uint64_t size_bytes_max) {
  const MutexLock lock(mutex_);
  const bool may_drop = run == run_ && !storing_ && !is_removed_ && as_sent_.contains(part) &&
                        written_.contains(part) && state_.changed.contains(part) &&
                        state_.size_bytes <= size_bytes_max;
  if (!may_drop) return false;
  size_bytes_max_ = size_bytes_max;
  if (auto ok = sidecar_.drop(part); !ok) return std::unexpected(ok.error());
  const Punched punched = give_back(part);
  if (punched == Punched::kNothing) {
    as_sent_.subtract(part);  // it is not tried again
    if (auto ok = rewrite_sidecar(); !ok) return std::unexpected(ok.error());
    return false;
  }
  // Where a hole may be in it, the part counts as dropped, though it keeps some of its room.
  state_.dropped.add(part);
  written_.subtract(part);
  return punched == Punched::kAll;
}

void StagingFile::give_up() {
  const MutexLock lock(mutex_);
  if (state_.is_whole || is_removed_) return;
  for (const ByteRange& range : ByteRanges(written_).list()) {
    if (auto ok = sidecar_.drop(range); !ok) {
      log::warn("staging: {} keeps its room: {}", name_, ok.error().detail);
      return;
    }
    give_back({.begin = range.begin, .end = round_up(range.end, kPageBytes)});
    state_.dropped.add(range);
    written_.subtract(range);
  }
}

ByteRanges StagingFile::dropped() const {
  const MutexLock lock(mutex_);
  return state_.dropped;
}

Result<void> StagingFile::check_dropped(ByteRange bytes) const {
  if (!state_.dropped.intersects(bytes)) return {};
  return fail_with_advice(
      ErrorCode::kSequentialOnly,
      "'" + state_.identity.key +
          "' is larger than the room for staged files: what was sent of it cannot be read or "
          "changed before it is stored",
      "raise write.staging_size, or close the file first");
}

}  // namespace s3rdmafs::upload
