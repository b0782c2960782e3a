// SPDX-License-Identifier: Apache-2.0
// The kernel's calls, past libc's names for them: the same code is part of the library that takes
// these names over (preload/). Each is as its man page says: -1 and errno on an error.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace s3rdmafs::client::sys {

inline ssize_t pread(int fd, void* buffer, std::size_t length, off_t offset) {
  return ::syscall(SYS_pread64, fd, buffer, length, offset);
}
inline ssize_t write(int fd, const void* bytes, std::size_t length) {
  return ::syscall(SYS_write, fd, bytes, length);
}
inline void* mmap(void* at, std::size_t length, int protection, int flags, int fd, off_t offset) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is an address
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, length, protection, flags, fd, offset));
}
/// Maps the memory of a shared mapping at another place too (mremap(2), old_size 0).
inline bool map_again(const void* mapping, std::size_t length, void* at) {
  return ::syscall(SYS_mremap, mapping, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED, at) != -1;
}
inline int close(int fd) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return ::close(fd);  // it follows descriptors by libc's names; tests alone are built with it
#endif
#endif
  return static_cast<int>(::syscall(SYS_close, fd));
}
inline int open(const char* path, int flags) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, 0));
}
inline int fcntl(int fd, int command, long argument) {
  return static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
}
/// Of an open file, from what the kernel knows of it: no request to the mount.
inline int stat_of(int fd, struct statx& found) {
  return static_cast<int>(::syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                    STATX_TYPE | STATX_SIZE | STATX_INO, &found));
}
/// Whether two descriptors have one open file. -1 with EINVAL: the kernel cannot tell (before Linux
/// 6.10); with EBADF: one is closed. A third of the cost of stat_of().
inline int have_one_file(int fd, int other) {
  constexpr int kQuery = 1024 + 3;  // F_DUPFD_QUERY, which libc may not have
  return fcntl(fd, kQuery, other);
}
inline ssize_t get_attribute(int fd, const char* name, void* value, std::size_t length) {
  return ::syscall(SYS_fgetxattr, fd, name, value, length);
}

/// Owns a descriptor. Movable, thread-bound.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) sys::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace s3rdmafs::client::sys
