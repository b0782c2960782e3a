// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fakes {

/// A file without a name on the machine's own tmpfs: what memory::HugeTmpfs makes, without the
/// right to mount one.
[[nodiscard]] inline Result<UniqueFd> make_tmpfs_file() {
  UniqueFd file(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return fail_errno("O_TMPFILE in /dev/shm", errno);
  return file;
}

/// A descriptor of its own, as a program has of a file that is passed through to it.
[[nodiscard]] inline UniqueFd open_again(int fd) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace s3rdmafs::fakes
