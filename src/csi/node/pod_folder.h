// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mount_table.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::csi {

/// The folder in which kubelet has those of the pods, /var/lib/kubelet. Mounts are made and removed
/// below it alone, and no symbolic link below it is followed. Thread-safe.
class PodFolder {
 public:
  /// @param path  absolute; may be a symbolic link, which is followed once, now
  /// Errors: kNotFound, kSystem.
  [[nodiscard]] static Result<PodFolder> open(const std::string& path);

  /// The path as the table of mounts has it. Errors: kInvalidArgument (not below this folder).
  [[nodiscard]] Result<std::string> real_path(const std::string& path) const;

  /// Shows the file system of `source` at a path, whose last part is made if it is missing; with
  /// attributes of mount_setattr(2) from the first moment on. Errors: kInvalidArgument, kNotFound
  /// (no parent), kSystem.
  [[nodiscard]] Result<void> bind(const std::string& source, const std::string& path,
                                  std::uint64_t attributes) const;

  /// The mount of s3rdmafs at a path. Errors: kInvalidArgument (not below; a mount of another
  /// kind), kSystem.
  [[nodiscard]] Result<std::optional<MountEntry>> mounted(const std::string& path) const;

  /// Removes mounts whose daemon has died, also from programs that have files open there: these can
  /// only fail. Errors: kInvalidArgument, kSystem.
  [[nodiscard]] Result<void> detach_dead(const std::string& path) const;

  /// Removes mounts of s3rdmafs from a path, and the folder there. Nothing there is no error. A
  /// mount that is in use is waited for, 5 s at most. Errors: kInvalidArgument (not below; a mount
  /// of another kind; not an empty folder), kUnsupported (in use), kSystem.
  [[nodiscard]] Result<void> unbind(const std::string& path, const Clock& clock,
                                    Deadline deadline) const;

 private:
  PodFolder(std::string path, std::string real, UniqueFd folder)
      : path_(std::move(path)), real_(std::move(real)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<UniqueFd> open_parent(const std::string& path) const;

  std::string path_;
  std::string real_;
  UniqueFd folder_;
};

/// Waits by the clock; for what the kernel does not tell.
void pause_until(const Clock& clock, Deadline moment);

}  // namespace s3rdmafs::csi
