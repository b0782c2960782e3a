// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace s3rdmafs::daemon {

struct HostPort {
  std::string host;  ///< an IPv6 address in brackets
  std::uint16_t port = 0;
};

/// Host and port of an endpoint's URL, which config/ has checked; the scheme's default port where
/// the URL has none. An empty host for a text that is not a URL.
[[nodiscard]] HostPort host_port_of(const std::string& url);

/// Whether the name is a loopback name or address, so that it can only mean this host.
[[nodiscard]] bool is_this_host(const std::string& host);

}  // namespace s3rdmafs::daemon
