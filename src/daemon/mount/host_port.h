// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace s3rdmafs::daemon {

struct HostPort {
  std::string host;  ///< an IPv6 address in brackets
  std::uint16_t port = 0;
};

/// Where an endpoint's URL, as config/ has checked it, leads; the scheme's port where it names
/// none.
[[nodiscard]] HostPort host_port_of(const std::string& url);

/// Whether that name can only be this very host.
[[nodiscard]] bool is_this_host(const std::string& host);

}  // namespace s3rdmafs::daemon
