// SPDX-License-Identifier: Apache-2.0
#include "fuse/mount_context.h"

namespace s3rdmafs::fuse {

struct stat MountContext::stat_of(const vfs::Attributes& attributes) const {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto since_epoch = duration_cast<nanoseconds>(attributes.modified.time_since_epoch());
  const timespec time{.tv_sec = since_epoch.count() / 1'000'000'000,
                      .tv_nsec = since_epoch.count() % 1'000'000'000};

  struct stat result{};
  result.st_ino = attributes.ino;
  result.st_mode = attributes.is_directory ? S_IFDIR | presentation.directory_mode
                                           : S_IFREG | presentation.file_mode;
  result.st_nlink = 1;  // of directories too: find(1) then does not rely on it
  result.st_uid = presentation.uid;
  result.st_gid = presentation.gid;
  result.st_size = static_cast<off_t>(attributes.size_bytes);
  result.st_blocks = static_cast<blkcnt_t>((attributes.size_bytes + 511) / 512);  // stat(2): 512 B
  result.st_blksize = 1 << 20;  // cp and cat read in steps of it
  result.st_atim = result.st_mtim = result.st_ctim = time;
  return result;
}

// A version is immutable, and the next lookup finds a new version as a new inode; a file that is
// being written grows. Of a directory this mount may change the time. The kernel hears of its own
// changes, but not of a commit, nor of a change whose answer was lost. A second, and not nothing:
// each walk through the directory checks its mode bits, and would ask for them.
std::chrono::milliseconds MountContext::valid_time_of(const vfs::Attributes& attributes) const {
  using std::chrono::seconds;
  if (attributes.is_being_written) return seconds(0);
  const bool may_change = attributes.is_directory && file_system.is_writable();
  return may_change ? seconds(1) : seconds(86'400);
}

}  // namespace s3rdmafs::fuse
