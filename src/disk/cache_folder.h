// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::disk {

/// The folder of one disk tier, held by one process at a time and read by its owner only. Movable,
/// thread-safe.
class CacheFolder {
 public:
  /// Makes the folder if its last part is missing, and locks it. Waits 2 s by the clock at most,
  /// for a mount that was killed and has not quite ended. The kernel ends the lock with the
  /// process. Errors, each with advice: kBusy (another mount has it), kAccessDenied (not ours, or
  /// others may enter it), kNotDirectory (also a symbolic link), kSystem.
  [[nodiscard]] static Result<CacheFolder> take(const std::string& path, const Clock& clock);
  /// The folder as it is: changes nothing, and does not hinder a mount that starts meanwhile.
  /// Errors: as take(); kNotFound.
  [[nodiscard]] static Result<CacheFolder> look_at(const std::string& path);

  [[nodiscard]] int fd() const noexcept { return folder_.get(); }
  /// The free room on its file system.
  [[nodiscard]] Result<std::uint64_t> free_bytes() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

 private:
  CacheFolder(UniqueFd folder, UniqueFd lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  UniqueFd folder_;
  UniqueFd lock_;
};

}  // namespace s3rdmafs::disk
