// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {

/// A listening stream socket with this name, which only this user and root can connect to. Makes
/// the folder; a name left behind by a process that died is taken over. Errors: kSystem, also
/// where the folder is not one that only this user or root may change.
[[nodiscard]] Result<UniqueFd> listen_on_unix_socket(const std::string& path);

/// The next who connects within the time, or none. Where one cannot be taken, as without a free
/// descriptor, he goes on waiting, and the time is waited out: a loop around this does not spin.
[[nodiscard]] UniqueFd accept_within(int listener, std::chrono::milliseconds time);

/// Errors: kNotFound (nobody listens there), kSystem, also as above: who may change the folder
/// could have put a socket of his own there.
[[nodiscard]] Result<UniqueFd> connect_to_unix_socket(const std::string& path);

/// How long one send or receive may take.
void set_socket_timeouts(int socket, std::chrono::seconds timeout);

/// All of it, or false: the peer left or does not read.
[[nodiscard]] bool send_all(int socket, std::string_view bytes);

}  // namespace s3rdmafs
