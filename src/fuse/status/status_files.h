// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// A file of the folder below.
struct StatusFile {
  std::string name;
  std::function<std::string()> text;  ///< as it is now; called for each open, by a FUSE worker
};

/// The folder ".s3rdmafs" of the root: files about the mount itself, for programs that see nothing
/// else of this machine, as in a container. No listing has it. An open file keeps the text of the
/// moment in which it was opened. Thread-safe.
class StatusFiles {
 public:
  static constexpr std::string_view kFolderName = ".s3rdmafs";
  static constexpr vfs::Ino kFolderIno = vfs::kRootIno + 1;

  /// @param files  fewer than there are numbers below kFirstObjectIno
  explicit StatusFiles(std::vector<StatusFile> files) : files_(std::move(files)) {}

  /// Whether it is the folder or one of its files. Costs a comparison: each operation asks.
  [[nodiscard]] static bool owns(vfs::Ino ino) noexcept {
    return ino - kFolderIno < vfs::kFirstObjectIno - kFolderIno;
  }
  /// Whether a name of a directory is the folder.
  [[nodiscard]] static bool is_folder(vfs::Ino parent, std::string_view name) noexcept {
    return parent == vfs::kRootIno && name == kFolderName;
  }

  [[nodiscard]] const std::vector<StatusFile>& files() const noexcept { return files_; }
  /// The inode of files()[index].
  [[nodiscard]] static vfs::Ino ino_of(std::size_t index) noexcept {
    return kFolderIno + 1 + index;
  }
  /// The file with this inode, or nullptr for the folder and for numbers that no file has.
  [[nodiscard]] const StatusFile* find(vfs::Ino ino) const noexcept;
  /// The inode of a name in the folder, or 0.
  [[nodiscard]] vfs::Ino find(std::string_view name) const noexcept;

  /// Keeps the file's text of now. Returns the handle.
  [[nodiscard]] std::uint64_t open(const StatusFile& file) EXCLUDES(mutex_);
  /// Bytes of the text of an open file; fewer at its end.
  [[nodiscard]] std::string read(std::uint64_t handle, std::uint64_t offset, std::size_t size) const
      EXCLUDES(mutex_);
  void release(std::uint64_t handle) EXCLUDES(mutex_);

 private:
  const std::vector<StatusFile> files_;
  mutable Mutex mutex_;  // leaf
  std::unordered_map<std::uint64_t, std::string> texts_ GUARDED_BY(mutex_);
  std::uint64_t last_handle_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::fuse
