// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/worker_thread.h"
#include "upload/staged/byte_ranges.h"

namespace s3rdmafs::upload {

class StagedSource;

/// The checksums of the parts of an object that a file was stored as last. So a file that may have
/// changed at any place is sent again only where it did. One for each such file. Thread-safe; one
/// store at a time.
class StoredParts {
 public:
  struct StoredPart {
    ByteRange bytes;
    std::uint64_t crc64nvme = 0;
  };

  /// A store begins; what one before has sent does not count unless it succeeded.
  void begin();
  /// The store has sent this part.
  void sent(StoredPart part);
  /// The store succeeded: the object is so large, and has the parts that were sent now; it has what
  /// it had before elsewhere.
  void succeeded(std::uint64_t size_bytes);

  /// In order.
  [[nodiscard]] std::vector<StoredPart> list() const;

 private:
  void remove(ByteRange bytes) REQUIRES(mutex_);

  mutable Mutex mutex_;                                           // leaf
  std::map<std::uint64_t, StoredPart> parts_ GUARDED_BY(mutex_);  ///< by where they begin
  std::vector<StoredPart> sent_ GUARDED_BY(mutex_);
};

/// Gives the bytes of `changed` that differ from the parts, or of which no part is known. Reads the
/// others on the thread. Where it ends (kCancelled) or a read fails, `done` gets an error. `done`
/// rules as in base/callback.h.
void find_changes(ByteRanges changed, const StoredParts& parts,
                  std::shared_ptr<StagedSource> source, WorkerThread& thread, Deadline deadline,
                  Done<ByteRanges> done);

}  // namespace s3rdmafs::upload
