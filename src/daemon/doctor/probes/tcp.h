// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netdb.h>

#include <chrono>
#include <memory>
#include <string>

#include "daemon/mount/host_port.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon::doctor {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// The endpoint's addresses; empty where there are none.
/// @param error  getaddrinfo(3)'s; 0: none
[[nodiscard]] AddressList look_up(const HostPort& endpoint, int& error);

/// "192.0.2.1"
[[nodiscard]] std::string text_of(const addrinfo& address);

/// Makes a connection and closes it. Waits, at most `timeout`.
/// @param source  the IP address of this host that it comes from; empty: the system's choice
/// @return 0, or the errno
[[nodiscard]] int try_connect(const addrinfo& address, const std::string& source,
                              std::chrono::milliseconds timeout);

/// The same for the first of the endpoint's addresses that is of the source's family.
/// Errors: kUnreachable, with source, endpoint and cause.
[[nodiscard]] Result<void> connect_from(const std::string& source, const HostPort& endpoint,
                                        std::chrono::milliseconds timeout);

}  // namespace s3rdmafs::daemon::doctor
