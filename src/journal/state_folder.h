// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::journal {

/// A folder of what outlives a mount: its journals, or the files that it stages. One process holds
/// it at a time, and only its owner can enter it. Movable, thread-safe.
class StateFolder {
 public:
  /// Makes the folder, and those above it that are missing, with mode 0700, and locks it. Waits 2 s
  /// by the clock at most, for a mount that was killed and has not quite ended. The kernel ends the
  /// lock with the process. Blocks: call it at mount or from the command line.
  /// @param setting  the key of the mount file that names the folder, for messages:
  ///                 "write.state_dir"
  /// Errors, with advice: kBusy (another mount has it), kAccessDenied (not ours, or others may
  /// enter it), kNotDirectory (also a symbolic link), kSystem.
  [[nodiscard]] static Result<StateFolder> take(const std::string& path, std::string_view setting,
                                                const Clock& clock);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// For openat(2) and its kin.
  [[nodiscard]] int fd() const noexcept { return folder_.get(); }
  /// Of its files and folders, in no order; "." and ".." are left out. Errors: kSystem.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

 private:
  StateFolder(std::string path, UniqueFd folder, UniqueFd lock)
      : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd folder_;
  UniqueFd lock_;
};

}  // namespace s3rdmafs::journal
