// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <span>
#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::rdma::shm {

/// Where a server waits for clients, as bind(2) and connect(2) take it.
struct SocketAddress {
  sockaddr_un name{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&name);
  }
};

/// @param socket_name  a path, or "@name" in the abstract name space; at most 107 characters
/// Errors: kInvalidArgument.
[[nodiscard]] Result<SocketAddress> address_of_socket(const std::string& socket_name);

/// Sends one message, and descriptors with it (SCM_RIGHTS).
/// @param fds  at most two, where the protocol allows one
/// @return  what sendmsg(2) returns
[[nodiscard]] ssize_t send_message(int socket, const Message& message, std::span<const int> fds);

}  // namespace s3rdmafs::rdma::shm
