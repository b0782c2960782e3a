// SPDX-License-Identifier: Apache-2.0
#include "target/store/copy_bytes.h"

#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>

namespace s3rdmafs::target {

S3Result<void> append_file(int from, std::uint64_t length_bytes, int to) {
  bool use_copy_range = true;
  std::uint64_t done_bytes = 0;
  while (done_bytes < length_bytes) {
    auto from_offset = static_cast<off_t>(done_bytes);
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
