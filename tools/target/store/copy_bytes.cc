// SPDX-License-Identifier: Apache-2.0
#include "target/store/copy_bytes.h"

#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace s3rdmafs::target {

namespace {

// A file without data (--dma none) stays one, since a copy of its zeros would take memory. Returns
// how far it is to the first data.
S3Result<std::uint64_t> append_leading_hole(int from, std::uint64_t offset_bytes,
                                            std::uint64_t length_bytes, int to) {
  const off_t data = ::lseek(from, static_cast<off_t>(offset_bytes), SEEK_DATA);
  if (data < 0 && errno != ENXIO) return 0;  // this file system knows no holes
  const std::uint64_t hole_bytes =
      data < 0 ? length_bytes
               : std::min(static_cast<std::uint64_t>(data) - offset_bytes, length_bytes);
  if (hole_bytes == 0) return 0;
  const off_t end = ::lseek(to, static_cast<off_t>(hole_bytes), SEEK_CUR);
  if (end < 0 || ::ftruncate(to, end) != 0) return refuse_errno("append a hole", errno);
  return hole_bytes;
}

}  // namespace

S3Result<void> append_range(int from, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                            int to) {
  bool use_copy_range = true;
  auto hole_bytes = append_leading_hole(from, offset_bytes, length_bytes, to);
  if (!hole_bytes) return std::unexpected(std::move(hole_bytes.error()));
  std::uint64_t done_bytes = *hole_bytes;
  while (done_bytes < length_bytes) {
    auto from_offset = static_cast<off_t>(offset_bytes + done_bytes);
    const std::uint64_t left = length_bytes - done_bytes;
    const ssize_t copied = use_copy_range
                               ? ::copy_file_range(from, &from_offset, to, nullptr, left, 0)
                               : ::sendfile(to, from, &from_offset, left);
    if (copied > 0) {
      done_bytes += static_cast<std::uint64_t>(copied);
      continue;
    }
    if (copied < 0 && errno == EINTR) continue;
    if (use_copy_range && (copied == 0 || errno == EXDEV || errno == EINVAL ||
                           errno == EOPNOTSUPP || errno == ENOSYS)) {
      use_copy_range = false;  // this file system cannot; sendfile() always can
      continue;
    }
    return refuse_errno("copy", copied == 0 ? EIO : errno);
  }
  return {};
}

}  // namespace s3rdmafs::target
