// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "client/system_calls.h"

namespace s3rdmafs::client {

/// A descriptor of the library in a process that is not the library's: a program that becomes a
/// daemon closes all numbers, and another file gets this one. It is looked at before each use, and
/// closed only if it is still the same. Movable, thread-bound.
class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  explicit OwnDescriptor(sys::Descriptor descriptor) noexcept : fd_(descriptor.release()) {
    is_known_ = look(inode_, device_);
  }
  OwnDescriptor(OwnDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        is_known_(other.is_known_),
        inode_(other.inode_),
        device_(other.device_) {}
  OwnDescriptor& operator=(OwnDescriptor&&) = delete;
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  ~OwnDescriptor() {
    if (is_intact()) sys::close(fd_);
  }

  /// The number, of whatever it is now.
  [[nodiscard]] int number() const noexcept { return fd_; }
  [[nodiscard]] bool is_intact() const noexcept {
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
    return is_known_ && look(inode, device) && inode == inode_ && device == device_;
  }

 private:
  // Sockets have inodes of their own as well (unix(7)).
  [[nodiscard]] bool look(std::uint64_t& inode, std::uint64_t& device) const noexcept {
    struct statx found{};
    if (fd_ < 0 || sys::stat_of(fd_, found) != 0) return false;
    inode = found.stx_ino;
    device = (std::uint64_t{found.stx_dev_major} << 32) | found.stx_dev_minor;
    return true;
  }

  int fd_ = -1;
  bool is_known_ = false;
  std::uint64_t inode_ = 0;
  std::uint64_t device_ = 0;
};

}  // namespace s3rdmafs::client
