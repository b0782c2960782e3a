// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace s3rdmafs::attach {

/// A message of the socket, with room for one descriptor (SCM_RIGHTS; unix(7)). Borrows its bytes.
/// Thread-bound.
class DescriptorMessage {
 public:
  /// The alignment leaves room for a second descriptor. The kernel closes what is more, and says so
  /// (MSG_CTRUNC).
  static constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int));
  static constexpr std::size_t kReceivedMax = (kControlBytes - CMSG_LEN(0)) / sizeof(int);

  struct Received {
    std::array<int, kReceivedMax> all{};
    std::size_t count = 0;
  };

  DescriptorMessage(void* bytes, std::size_t length)
      : bytes_{.iov_base = bytes, .iov_len = length} {
    message_.msg_iov = &bytes_;
    message_.msg_iovlen = 1;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  /// sendmsg(2). @param descriptor  to pass along; -1: none
  [[nodiscard]] ssize_t send(int socket, int descriptor) {
    if (descriptor >= 0) {
      use_control();
      cmsghdr* const header = CMSG_FIRSTHDR(&message_);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
    }
    return ::sendmsg(socket, &message_, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  /// recvmsg(2). Then is_cut() and received() tell the rest.
  [[nodiscard]] ssize_t receive(int socket) {
    use_control();
    const ssize_t n = ::recvmsg(socket, &message_, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) message_.msg_controllen = 0;
    return n;
  }
  [[nodiscard]] bool is_cut() const { return (message_.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0; }
  /// All that came, which the caller owns: also those that nothing asked for.
  [[nodiscard]] Received received() {
    Received came;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      return came;
    }
    came.count = std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), kReceivedMax);
    std::memcpy(came.all.data(), CMSG_DATA(header), came.count * sizeof(int));
    return came;
  }

 private:
  void use_control() {
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }

  iovec bytes_;
  msghdr message_{};
  alignas(cmsghdr) std::array<char, kControlBytes> control_{};
};

}  // namespace s3rdmafs::attach
