// SPDX-License-Identifier: Apache-2.0
#include "rdma/shm/shm_session.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace s3rdmafs::rdma::shm {
namespace {

// Sockets with a time-out are not restarted by the kernel, and io_uring interrupts a thread that
// used a ring (FUSE over io_uring, fuse/ring.cc) just as a signal does.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

Result<sockaddr_un> address_of(const std::string& socket_name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_name.empty() || socket_name.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kInvalidArgument, "'" + socket_name + "' is no name for a UNIX socket");
  }
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name.front() == '@') address.sun_path[0] = '\0';
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  return address;
}

// Whoever owns the socket gets our cache's memory, so it must be root or ourselves.
Result<void> check_peer(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return fail_errno("SO_PEERCRED", errno);
  }
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    return fail(ErrorCode::kAccessDenied,
                "the shm server runs as user " + std::to_string(peer.uid) +
                    ", neither as root nor as this mount's user; its memory is not shared with it");
  }
  return {};
}

void set_timeouts(int socket) {
  const timeval timeout{.tv_sec = ShmSession::kExchangeTimeout.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

Result<void> send_message(int socket, const Message& message, int fd) {
  iovec part{.iov_base = const_cast<Message*>(&message), .iov_len = sizeof(message)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  }
  const ssize_t sent = uninterrupted([&] { return ::sendmsg(socket, &header, MSG_NOSIGNAL); });
  if (sent == static_cast<ssize_t>(sizeof(message))) return {};
  if (errno == EAGAIN) return fail(ErrorCode::kTimedOut, "the shm server takes no message");
  return fail(ErrorCode::kUnreachable,
              std::string("the shm server is gone: ") + std::strerror(errno));
}

}  // namespace

Result<ShmSession> ShmSession::connect(const std::string& socket_name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket", errno);
  set_timeouts(socket.get());
  socklen_t length = 0;
  const auto address = address_of(socket_name, length);
  if (!address) return std::unexpected(address.error());
  const int connected = uninterrupted([&] {
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), length);
  });
  if (connected != 0) {
    return fail(ErrorCode::kUnreachable,
                "no shm server at " + socket_name + ": " + std::strerror(errno));
  }
  if (auto trusted = check_peer(socket.get()); !trusted) return std::unexpected(trusted.error());

  ShmSession session(std::move(socket));
  Message hello{};
  hello.type = MessageType::kHello;
  hello.version = kWireVersion;
  const auto welcome = session.exchange(hello, /*fd=*/-1, MessageType::kWelcome);
  if (!welcome) return std::unexpected(welcome.error());
  if (welcome->version != kWireVersion) {
    return fail(ErrorCode::kProtocol, "the shm server speaks version " +
                                          std::to_string(welcome->version) +
                                          ", this mount version " + std::to_string(kWireVersion));
  }
  session.id_ = welcome->session_id;
  return session;
}

Result<std::uint64_t> ShmSession::register_region(int fd, std::uint64_t offset_bytes,
                                                  std::uint64_t length_bytes, WireAccess access) {
  Message request{};
  request.type = MessageType::kRegister;
  request.access = access;
  request.offset_bytes = offset_bytes;
  request.length_bytes = length_bytes;
  const auto reply = exchange(request, fd, MessageType::kRegistered);
  if (!reply) return std::unexpected(reply.error());
  return reply->region_key;
}

Result<void> ShmSession::deregister_region(std::uint64_t region_key) {
  Message request{};
  request.type = MessageType::kDeregister;
  request.region_key = region_key;
  const auto reply = exchange(request, /*fd=*/-1, MessageType::kDeregistered);
  if (!reply) return std::unexpected(reply.error());
  return {};
}

void ShmSession::request_end() noexcept { ::shutdown(socket_.get(), SHUT_WR); }

bool ShmSession::hung_up(std::chrono::milliseconds timeout) const noexcept {
  // No POLLIN: answers belong to the thread in exchange().
  pollfd watched{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(timeout.count())) > 0;
}

Result<Message> ShmSession::exchange(const Message& request, int fd, MessageType expected) {
  if (auto sent = send_message(socket_.get(), request, fd); !sent) {
    return std::unexpected(sent.error());
  }
  Message reply{};
  const ssize_t received =
      uninterrupted([&] { return ::recv(socket_.get(), &reply, sizeof(reply), 0); });
  if (received < 0 && errno == EAGAIN) {
    return fail(ErrorCode::kTimedOut, "the shm server does not answer");
  }
  if (received <= 0) return fail(ErrorCode::kUnreachable, "the shm server hung up");
  if (received != static_cast<ssize_t>(sizeof(reply))) {
    return fail(ErrorCode::kProtocol, "the shm server sent half a message");
  }
  if (reply.type == MessageType::kRefused) return fail_errno("the shm server refused", reply.error);
  if (reply.type != expected) return fail(ErrorCode::kProtocol, "the shm server is out of step");
  return reply;
}

}  // namespace s3rdmafs::rdma::shm
