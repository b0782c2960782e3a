// SPDX-License-Identifier: Apache-2.0
// A program that gets EIO seldom says more, so the log has to. A thousand readers that fail at once
// would fill it, so it takes a few lines at a time.
#include "fuse/failure_log.h"

#include <cerrno>
#include <utility>

#include "fuse/errno_map.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse {
namespace {

/// The name of an errno that is logged; nullptr: it is not.
const char* logged_name(int number) {
  switch (number) {
    case EIO:
      return "EIO";
    case EACCES:
      return "EACCES";
    case ENOMEM:
      return "ENOMEM";
    case ENOSPC:
      return "ENOSPC";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    default:
      return nullptr;
  }
}

}  // namespace

FailureLog::FailureLog(const Clock& clock, metrics::Registry& metrics)
    : clock_(clock),
      errors_(
          metrics.counter("fuse_errors_total",
                          "Requests that failed with EIO, EACCES, ENOMEM, ENOSPC or EOPNOTSUPP")) {}

void FailureLog::report(const Error& error) {
  const char* const name = logged_name(errno_of(error.code));
  if (name == nullptr) return;
  errors_.add();
  // At the end of a mount requests are cancelled in great number, and the log tells of the end.
  if (error.code == ErrorCode::kCancelled) return;
  unsigned silent = 0;
  if (!take_line(silent)) return;
  if (silent > 0) log::warn("fuse: {} more requests failed before; they were not logged", silent);
  log::warn("fuse: request failed: {}; its program gets {}", error.detail, name);
}

bool FailureLog::take_line(unsigned& silent) {
  const Deadline now = clock_.now();
  const MutexLock lock(mutex_);
  if (now >= window_end_) {
    window_end_ = now + kWindow;
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++silent_;
    return false;
  }
  ++lines_;
  silent = std::exchange(silent_, 0);
  return true;
}

}  // namespace s3rdmafs::fuse
