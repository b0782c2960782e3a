// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cache/read_cache.h"
#include "s3rdmafs/base/clock.h"
#include "upload/staged/staging_area.h"
#include "vfs/staged/large_files.h"
#include "vfs/staged/staged_file.h"

namespace s3rdmafs::vfs {

/// Makes staged files, each with a staging file and a number of its own. Thread-safe.
class StagedFileMaker {
 public:
  /// Borrows all.
  StagedFileMaker(upload::StagingArea& area, cache::ReadCache& cache, const Clock& clock,
                  PosixMetadata posix)
      : area_(area), cache_(cache), clock_(clock), posix_(posix), large_files_(area.size_bytes()) {}

  /// @param start  its number and `posix` are ignored
  /// Errors: kNoSpace, kSystem.
  [[nodiscard]] Result<std::shared_ptr<StagedFile>> make(StagedFile::Start start);
  /// Whether the kernel may write files by itself (upload::StagingFile: whole).
  [[nodiscard]] bool may_make_whole() const { return area_.bounds_itself(); }
  /// Whether there is so much room that such a file is likely to find it: its writes fail where a
  /// write that the mount takes waits for room.
  [[nodiscard]] bool has_room_for_whole(const std::string& key) const {
    return may_make_whole() && area_.used_bytes() <= area_.size_bytes() / 2 &&
           !large_files_.are_expected_beside(key);
  }
  /// A file has this size, or is about to be truncated from it.
  void saw_size(const std::string& key, std::uint64_t size_bytes) {
    large_files_.saw(key, size_bytes);
  }

 private:
  upload::StagingArea& area_;
  cache::ReadCache& cache_;
  const Clock& clock_;
  const PosixMetadata posix_;
  LargeFiles large_files_;
  std::atomic<std::uint64_t> last_number_ = 0;
};

}  // namespace s3rdmafs::vfs
