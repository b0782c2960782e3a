// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "config/file_globs.h"
#include "config/mount_config.h"
#include "fuse/access_history.h"
#include "fuse/inode_io_mode.h"

namespace s3rdmafs::fuse {

/// Who serves the reads of a file that is not passed through: what the mount file says, else what
/// the file's size and the habits of its readers say. Thread-safe.
class IoModePolicy {
 public:
  /// From here on a file goes past the page cache, unless something speaks against it: it is read
  /// once and in big steps, and the second copy costs two and a half times the first. Smaller ones
  /// stay in the page cache, where their next reader pays nothing.
  static constexpr std::uint64_t kLargeFileBytes = 8 * kMiB;

  explicit IoModePolicy(const config::MountConfig::Read& rules);

  /// For the first handle of a version; never kPassthrough.
  /// @param path        below the mount point, no "/" in front
  /// @param may_be_mapped  whether the kernel maps direct files shared (Linux 6.6)
  [[nodiscard]] OpenMode choose(vfs::Ino ino, const std::string& path, std::uint64_t size_bytes,
                                bool may_be_mapped);
  /// The kernel asked for bytes of it. Takes no lock.
  void on_read(vfs::Ino ino, AccessHistory::Read read) noexcept { habits_.on_read(ino, read); }

 private:
  const config::ReadMode mode_;
  const config::FileGlobs buffered_;
  const config::FileGlobs direct_;
  AccessHistory habits_;
};

}  // namespace s3rdmafs::fuse
