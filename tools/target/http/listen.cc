// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/log.h"
#include "target/http/mhd_server.h"

namespace s3rdmafs::target {
namespace {

// As many as the kernel's default somaxconn: a job's ranks connect all at once.
constexpr int kBacklog = 4096;

struct HostPort {
  std::string host, port;
};

Result<HostPort> split_host_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < text.size() && colon > 0;
  std::string host = has_port ? text.substr(0, colon) : std::string();
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--listen takes HOST:PORT, such as 127.0.0.1:9000, not \"{}\"", text));
  }
  return HostPort{host, text.substr(colon + 1)};
}

Result<Listener> describe(UniqueFd socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket.get(), generic, &length) != 0) return fail_errno("getsockname", errno);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(generic, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return fail(ErrorCode::kSystem, "getnameinfo failed for the listening socket");
  }
  const bool v6 = address.ss_family == AF_INET6;
  Listener listener;
  listener.socket = std::move(socket);
  listener.address = v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
  listener.port = static_cast<std::uint16_t>(std::stoul(port));
  return listener;
}

}  // namespace

Result<Listener> listen_on(const std::string& host_and_port) {
  const auto where = split_host_port(host_and_port);
  if (!where) return std::unexpected(where.error());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int rc = ::getaddrinfo(where->host.c_str(), where->port.c_str(), &hints, &found);
      rc != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--listen {}: {}", host_and_port, ::gai_strerror(rc)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket", errno);
  const int on = 1;
  // Else a restart would have to wait for the old connections' TIME_WAIT.
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return fail_errno("setsockopt SO_REUSEADDR", errno);
  }
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return fail(ErrorCode::kSystem,
                  fmt::format("--listen {}: another program uses this port; choose another, or 0 "
                              "for any free one",
                              host_and_port));
    }
    return fail_errno(fmt::format("--listen {}", host_and_port), errno);
  }
  return describe(std::move(fd));
}

}  // namespace s3rdmafs::target
