// SPDX-License-Identifier: Apache-2.0
#include "fuse/mount_context.h"

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse {

namespace {

// The buffer that cp(1), stdio and Python's files take. With 1 MiB each file of cp costs it twice
// the processor time, as it touches fresh memory for each (tools/bench/MEASUREMENTS.md), and a
// program that seeks reads a whole buffer each time. cp itself takes at least 128 KiB.
constexpr blksize_t kBufferBytes = 256 * kKiB;

timespec timespec_of(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds);
  return {.tv_sec = seconds.time_since_epoch().count(), .tv_nsec = rest.count()};
}

mode_t mode_of(const vfs::Attributes& attributes, const MountContext::Presentation& mount) {
  if (attributes.is_directory) return S_IFDIR | mount.directory_mode;
  if (attributes.posix.is_symlink) return S_IFLNK | 0777;
  return S_IFREG | attributes.posix.mode.value_or(mount.file_mode);
}

}  // namespace

struct stat MountContext::stat_of(const vfs::Attributes& attributes) const {
  struct stat result{};
  result.st_ino = attributes.ino;
  result.st_mode = mode_of(attributes, presentation);
  result.st_nlink = 1;  // of directories too: find(1) then does not rely on it
  result.st_uid = attributes.posix.uid.value_or(presentation.uid);
  result.st_gid = attributes.posix.gid.value_or(presentation.gid);
  result.st_size = static_cast<off_t>(attributes.size_bytes);
  result.st_blocks = static_cast<blkcnt_t>((attributes.size_bytes + 511) / 512);  // stat(2): 512 B
  result.st_blksize = kBufferBytes;
  result.st_mtim = timespec_of(attributes.modified);
  result.st_atim = timespec_of(attributes.posix.accessed.value_or(attributes.modified));
  result.st_ctim = timespec_of(attributes.posix.changed.value_or(attributes.modified));
  return result;
}

// A version is immutable, and the next lookup finds a new version as a new inode; a file that is
// being written grows. Of a directory this mount may change the time. The kernel hears of its own
// changes, but not of a commit, nor of a change whose answer was lost. A second, and not nothing:
// each walk through the directory checks its mode bits, and would ask for them. User metadata may
// change without the version; a lookup refreshes it.
std::chrono::milliseconds MountContext::valid_time_of(const vfs::Attributes& attributes) const {
  using std::chrono::seconds;
  if (attributes.is_being_written) return seconds(0);
  const vfs::FileSystem& owner = file_system_of(attributes.ino);
  const bool may_change = attributes.is_directory ? owner.is_writable() : owner.shows_posix();
  return may_change ? seconds(1) : seconds(86'400);
}

}  // namespace s3rdmafs::fuse
