// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::disk {

/// The folder of one disk tier, held by one process at a time and read by its owner only. Movable,
/// thread-safe.
class CacheFolder {
 public:
  enum class Purpose {
    kUse,   ///< made if it is missing, and locked; the kernel unlocks it however the process ends
    kLook,  ///< nothing is changed, nor in the way of a mount that starts meanwhile
  };

  /// For kUse it waits 2 s at most, for a mount that was killed and is not quite gone.
  /// Errors, each with what to do: kBusy (another mount has it), kAccessDenied (not ours, or others
  /// may read it), kNotDirectory (also a symbolic link), kNotFound, kSystem.
  [[nodiscard]] static Result<CacheFolder> open(const std::string& path, Purpose purpose);

  [[nodiscard]] int fd() const noexcept { return folder_.get(); }
  /// What its file system has left for us.
  [[nodiscard]] Result<std::uint64_t> free_bytes() const;
  [[nodiscard]] Result<std::vector<std::string>> names() const;

 private:
  CacheFolder(UniqueFd folder, UniqueFd lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  UniqueFd folder_;
  UniqueFd lock_;
};

}  // namespace s3rdmafs::disk
