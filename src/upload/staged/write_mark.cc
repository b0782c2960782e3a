// SPDX-License-Identifier: Apache-2.0
// Why a time that no clock shows. The kernel's clock for files stands still for up to 10 ms, so two
// equal real times do not say that nothing was written between them. Linux holds the inode's lock
// over a write(2), its change of the time included, and over utimensat(2): each write falls before
// the mark, with all its bytes, or after it.
#include "upload/staged/write_mark.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

namespace s3rdmafs::upload {
namespace {

constexpr time_t kMarksEnd = 100'000'000;  // in 1973

Result<void> set_modified(int file, const timespec& modified) {
  const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, modified};
  if (::futimens(file, times.data()) == 0) return {};
  return fail_errno("set the time of a staging file", errno);
}

}  // namespace

Result<void> set_write_mark(int file, WriteMark mark) {
  return set_modified(file, {.tv_sec = static_cast<time_t>(mark), .tv_nsec = 0});
}

Result<void> note_write(int file) {
  return set_modified(file, {.tv_sec = 0, .tv_nsec = UTIME_NOW});
}

WriteMark write_mark_of(const struct stat& status) {
  const timespec& modified = status.st_mtim;
  const bool is_mark = modified.tv_nsec == 0 && modified.tv_sec > 0 && modified.tv_sec < kMarksEnd;
  return is_mark ? static_cast<WriteMark>(modified.tv_sec) : 0;
}

std::optional<std::chrono::system_clock::time_point> write_time_of(const struct stat& status) {
  if (write_mark_of(status) != 0) return std::nullopt;
  const timespec& modified = status.st_mtim;
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::seconds(modified.tv_sec) + std::chrono::nanoseconds(modified.tv_nsec)));
}

}  // namespace s3rdmafs::upload
