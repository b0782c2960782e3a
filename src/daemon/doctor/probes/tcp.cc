// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/tcp.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon::doctor {
namespace {

AddressList none() {
  return {nullptr, [](addrinfo* list) {
            if (list != nullptr) ::freeaddrinfo(list);
          }};
}

std::string without_brackets(std::string host) {
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

AddressList look_up(const std::string& host, const std::string& port, int flags, int& error) {
  const addrinfo hints{.ai_flags = flags,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  AddressList list = none();
  if (error == 0) list.reset(found);
  return list;
}

// 0 or the errno.
int bind_to(int fd, const std::string& source) {
  int error = 0;
  const AddressList address = look_up(source, "0", AI_NUMERICHOST | AI_NUMERICSERV, error);
  if (address == nullptr) return EADDRNOTAVAIL;
  return ::bind(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
}

}  // namespace

AddressList look_up(const HostPort& endpoint, int& error) {
  return look_up(without_brackets(endpoint.host), std::to_string(endpoint.port),
                 AI_ADDRCONFIG | AI_NUMERICSERV, error);
}

std::string text_of(const addrinfo& address) {
  char host[NI_MAXHOST];
  ::getnameinfo(address.ai_addr, address.ai_addrlen, host, sizeof(host), nullptr, 0,
                NI_NUMERICHOST);
  return host;
}

int try_connect(const addrinfo& address, const std::string& source,
                std::chrono::milliseconds timeout) {
  const UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  if (!source.empty()) {
    if (const int error = bind_to(fd.get(), source); error != 0) return error;
  }
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(timeout.count())) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

Result<void> connect_from(const std::string& source, const HostPort& endpoint,
                          std::chrono::milliseconds timeout) {
  int error = 0;
  const AddressList list = look_up(endpoint, error);
  const int family = source.contains(':') ? AF_INET6 : AF_INET;
  int failure = EAFNOSUPPORT;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    if (!source.empty() && at->ai_family != family) continue;
    failure = try_connect(*at, source, timeout);
    break;
  }
  if (failure == 0) return {};
  return fail(ErrorCode::kUnreachable,
              fmt::format("no connection from {} to {} port {}: {}",
                          source.empty() ? "any address" : source, endpoint.host, endpoint.port,
                          std::strerror(failure)));
}

}  // namespace s3rdmafs::daemon::doctor
