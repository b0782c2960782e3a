// SPDX-License-Identifier: Apache-2.0
#include "rdma/shm/shm_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "s3rdmafs/base/unix_socket.h"
#include "s3rdmafs/rdma/shm_socket.h"

namespace s3rdmafs::rdma::shm {
namespace {

// Sockets with a time-out are not restarted by the kernel, and io_uring interrupts a thread that
// used a ring (FUSE over io_uring, fuse/kernel/ring.cc) just as a signal does.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// The owner of the socket gets our cache's memory, so it must be root or this mount's user.
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

Result<void> send_request(int socket, const Message& message, int fd) {
  const std::span<const int> fds = fd < 0 ? std::span<const int>() : std::span(&fd, 1);
  const ssize_t sent = uninterrupted([&] { return send_message(socket, message, fds); });
  if (sent == static_cast<ssize_t>(sizeof(message))) return {};
  if (errno == EAGAIN) return fail(ErrorCode::kTimedOut, "the shm server accepts no message");
  return fail(ErrorCode::kUnreachable,
              std::string("the shm server is gone: ") + std::strerror(errno));
}

}  // namespace

Result<ShmSession> ShmSession::connect(const std::string& socket_name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket", errno);
  set_socket_timeouts(socket.get(), kExchangeTimeout);
  const auto address = address_of_socket(socket_name);
  if (!address) return std::unexpected(address.error());
  const int connected =
      uninterrupted([&] { return ::connect(socket.get(), address->get(), address->length); });
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

bool ShmSession::hung_up(std::chrono::milliseconds timeout, int wake) const noexcept {
  // No POLLIN of the socket: answers belong to the thread in exchange().
  std::array<pollfd, 2> watched{{{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0},
                                 {.fd = wake, .events = POLLIN, .revents = 0}}};
  const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(timeout.count()));
  return ready > 0 && watched.front().revents != 0;
}

Result<Message> ShmSession::exchange(const Message& request, int fd, MessageType expected) {
  if (auto sent = send_request(socket_.get(), request, fd); !sent) {
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
