// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/rdma/shm_socket.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace s3rdmafs::rdma::shm {

Result<SocketAddress> address_of_socket(const std::string& socket_name) {
  SocketAddress address;
  if (socket_name.empty() || socket_name.size() >= sizeof(address.name.sun_path)) {
    return fail(ErrorCode::kInvalidArgument,
                "'" + socket_name + "' cannot be the name of a UNIX socket");
  }
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, socket_name.data(), socket_name.size());
  if (socket_name.front() == '@') address.name.sun_path[0] = '\0';
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  return address;
}

ssize_t send_message(int socket, const Message& message, std::span<const int> fds) {
  constexpr std::size_t kFdsMax = 2;
  fds = fds.first(std::min(fds.size(), kFdsMax));
  iovec part{.iov_base = const_cast<Message*>(&message), .iov_len = sizeof(message)};
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsMax * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  return ::sendmsg(socket, &header, MSG_NOSIGNAL);
}

}  // namespace s3rdmafs::rdma::shm
