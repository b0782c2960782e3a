// SPDX-License-Identifier: Apache-2.0
//
// Why not libsystemd: sd_notify(3) documents this protocol as stable and asks programs that need
// nothing else of the library to speak it themselves. It brings half a dozen libraries into a
// process that then holds keys.
#include "daemon/mount/process/readiness.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

/// Sends a datagram to the socket that the environment names; a mount works without.
void notify(const std::string& message) {
  const char* variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = variable == nullptr ? "" : variable;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty()) return;
  if ((path.front() != '/' && path.front() != '@') || path.size() >= sizeof(address.sun_path)) {
    log::warn(
        "systemd: NOTIFY_SOCKET is neither a path nor an abstract name: '{}'; it is not told that "
        "the "
        "mount answers",
        printable(path));
    return;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract name, unix(7)
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::sendto(socket.get(), message.data(), message.size(), MSG_NOSIGNAL,
                          reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    log::warn("systemd: it cannot be told that the mount answers: {}", std::strerror(errno));
  }
}

}  // namespace

void notify_ready(const std::string& status) { notify("READY=1\nSTATUS=" + printable(status)); }
void notify_stopping() { notify("STOPPING=1"); }

}  // namespace s3rdmafs::daemon
