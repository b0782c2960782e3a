// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {

struct UnixSocketTerms {
  int type = SOCK_STREAM;      ///< or SOCK_SEQPACKET
  bool for_all_users = false;  ///< else only this user and root can connect
};

/// Listens on a socket with this name. Makes the folder, and takes over a name that a dead process
/// left. Errors: kSystem, also where another user may change the folder.
[[nodiscard]] Result<UniqueFd> listen_on_unix_socket(const std::string& path,
                                                     UnixSocketTerms terms = {});

/// Accepts one client after another, gives each to `serve` and closes its connection. Ends 0.2 s
/// after `stop` was requested, or when `serve` returns after that.
/// @param timeout  for each send to a client and each receive
void serve_clients(int listener, const std::stop_token& stop, std::chrono::seconds timeout,
                   const std::function<void(int client)>& serve);

/// Errors: kNotFound (no process listens there), kSystem. It refuses the same folders: a user who
/// may change one could have put a socket of their own there.
[[nodiscard]] Result<UniqueFd> connect_to_unix_socket(const std::string& path);

/// Limits each send and each receive to `timeout`.
void set_socket_timeouts(int socket, std::chrono::seconds timeout);

/// All that the peer sends until it closes the connection. Errors: kTimedOut (silence for longer
/// than set_socket_timeouts() allows), kSystem.
[[nodiscard]] Result<std::string> receive_all(int socket);

/// Sends all bytes; false if the peer has left or does not read.
[[nodiscard]] bool send_all(int socket, std::string_view bytes);

}  // namespace s3rdmafs
