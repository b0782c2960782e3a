// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/read_cache.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::cache {

/// One version of one object, every byte of it in a file of the cache. The bytes stay what they are
/// while this lives, and for as long after as the kernel holds the file open or mapped. Any thread
/// may use and destroy it.
class ResidentObject {
 public:
  ResidentObject() = default;
  ResidentObject(const ResidentObject&) = delete;
  ResidentObject& operator=(const ResidentObject&) = delete;
  virtual ~ResidentObject() = default;

  /// A regular file exactly as long as the object. Borrowed; nobody writes to it.
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

/// Objects in memory as a whole. The real one is ObjectCache; tests have fakes. Thread-safe.
class ResidentObjects {
 public:
  virtual ~ResidentObjects() = default;

  /// Gives the object once all of it is there: at once where it is already. What it gives must be
  /// gone before the cache is.
  /// Errors: kUnsupported (too small or too large), kNoMemory (no room now), kStale (the version is
  /// gone), and what else ObjectStore::get has. Each but kStale means: read it by pieces.
  virtual void open(ObjectVersion version, Deadline deadline,
                    Done<std::shared_ptr<const ResidentObject>> done) = 0;
};

}  // namespace s3rdmafs::cache
