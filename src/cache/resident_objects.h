// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/read_cache.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/interface.h"

namespace s3rdmafs::cache {

/// One version of one object with every byte in a file of the cache. The bytes do not change while
/// this lives, nor later while the kernel holds the file open or mapped. Any thread may use and
/// destroy it.
class ResidentObject : public Interface {
 public:
  /// A regular file exactly as long as the object. Borrowed, and only for reading.
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

/// Objects in memory as a whole. ObjectCache implements it; tests/fakes has a fake. Thread-safe.
class ResidentObjects {
 public:
  virtual ~ResidentObjects() = default;

  /// Answers with the object when all of it is resident, at once where it is already. The answer
  /// must be destroyed before the cache.
  /// Errors: kUnsupported (too small or too large), kNoMemory and kTimedOut (no room now, or not in
  /// time), kBusy (a pin is fetching it), kCancelled (the mount ends), kStale (the version is
  /// gone), and the other errors of ObjectStore::get. After each but kStale the object can be read
  /// by pieces. `done` runs once, on the caller's thread or one of the cache's.
  virtual void open(ObjectVersion version, Deadline deadline,
                    Done<std::shared_ptr<const ResidentObject>> done) = 0;

  /// Fetches the version as an open that probably follows would. A guess: nothing waits for it, and
  /// errors are ignored. False where it does not begin, since there is no room or the size is not
  /// for this: an open would be answered with an error as well.
  virtual bool prefetch(ObjectVersion version, Deadline deadline) = 0;
};

}  // namespace s3rdmafs::cache
