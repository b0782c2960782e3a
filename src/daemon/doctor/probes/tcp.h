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

/// Looks up the endpoint's addresses; null on failure. Blocks as long as the resolver does.
/// @param error  set to the result of getaddrinfo(3); 0: success
[[nodiscard]] AddressList look_up(const HostPort& endpoint, int& error);

/// The address in numbers: "192.0.2.1".
[[nodiscard]] std::string text_of(const addrinfo& address);

/// Opens a connection and closes it. Blocks for `timeout` at most.
/// @param source  the IP address of this host to connect from; empty: the system's choice
/// @return 0, or the errno of the failure
[[nodiscard]] int try_connect(const addrinfo& address, const std::string& source,
                              std::chrono::milliseconds timeout);

/// The same to the first of the endpoint's addresses that is of the source's address family.
/// Errors: kUnreachable, with source, endpoint and cause.
[[nodiscard]] Result<void> connect_from(const std::string& source, const HostPort& endpoint,
                                        std::chrono::milliseconds timeout);

}  // namespace s3rdmafs::daemon::doctor
