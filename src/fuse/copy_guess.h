// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "s3rdmafs/base/clock.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// Guesses whether an open for writing is that of cp(1), whose copy_file_range(2) the server can
/// carry out unless the kernel writes the file by itself. cp opens its source just before, in the
/// same thread, and asks with O_EXCL for a new file, or with O_TRUNC for one that it found; other
/// programs create with O_CREAT and O_TRUNC. A wrong guess costs time, never correctness.
/// Thread-safe; takes no lock.
class CopyGuess {
 public:
  /// From the answer to the open of the source to the open of the copy: one or two lookups, on a
  /// machine that is busy.
  static constexpr std::chrono::milliseconds kOpenToOpen{1000};

  explicit CopyGuess(const Clock& clock) : clock_(clock) {}

  /// The thread is about to hear that a file is open to be read.
  void on_open_to_read(pid_t thread, vfs::Ino ino) noexcept;
  /// Whether the thread, which creates a file with these flags, is about to copy to it.
  [[nodiscard]] bool creates_copy(pid_t thread, int flags) const noexcept;
  /// The same of a file that is there, and that it truncates.
  [[nodiscard]] bool replaces_by_copy(pid_t thread, vfs::Ino ino) const noexcept;

 private:
  // More than processors that run programs; of two threads in one place one is forgotten.
  static constexpr std::size_t kThreadsMax = 256;

  struct Opened {
    /// The thread in the upper half, the lower half of a time in milliseconds in the other.
    std::atomic<std::uint64_t> by = 0;
    std::atomic<vfs::Ino> ino = 0;
  };

  [[nodiscard]] std::uint64_t now_ms() const noexcept;
  /// The file that the thread has just opened; 0: none.
  [[nodiscard]] vfs::Ino just_opened(pid_t thread) const noexcept;

  const Clock& clock_;
  std::array<Opened, kThreadsMax> opened_;
};

}  // namespace s3rdmafs::fuse
