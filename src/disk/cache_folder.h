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
  enum class IfMissing { kMake, kFail };

  /// Opens it and takes its lock, which the kernel gives back however the process ends. Waits for
  /// that 2 s at most.
  /// Errors, each with what to do: kBusy (another mount has it), kAccessDenied (not ours, or others
  /// may read it), kNotDirectory (also a symbolic link), kNotFound, kSystem.
  [[nodiscard]] static Result<CacheFolder> open(const std::string& path, IfMissing if_missing);

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
