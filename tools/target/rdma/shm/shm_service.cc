// SPDX-License-Identifier: Apache-2.0
// The server end of the shm fabric: it does the work that a NIC and its driver do for the others.
//
// One thread accepts, one thread a session reads its control messages (shm_acceptor.h); HTTP's own
// threads do the copies. A session ends when its client hangs up (or dies), or when this service
// ends. Its socket is closed only after the last of its transfers has ended, because the client
// takes the hang-up as the proof that its memory is its own again.
#include "target/rdma/shm/shm_service.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <stop_token>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/rdma/shm/shm_acceptor.h"
#include "target/rdma/shm/shm_sessions.h"

namespace s3rdmafs::target {
namespace {

using rdma::shm::Message;
using rdma::shm::MessageType;
using rdma::shm::WireAccess;

struct Received {
  Message message{};
  UniqueFd fd;
};

// Nothing when the client is gone or speaks something else.
std::optional<Received> receive(int socket) {
  Received received;
  iovec part{.iov_base = &received.message, .iov_len = sizeof(received.message)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t length = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    // Alignment leaves room for a second descriptor; each that came is ours to close.
    const std::size_t bytes = item->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + at, sizeof(fd));
      received.fd.reset(fd);
    }
  }
  if (length != static_cast<ssize_t>(sizeof(received.message))) return std::nullopt;
  return received;
}

/// A session, ended with everything in it when this goes.
class OpenSession {
 public:
  explicit OpenSession(ShmSessions& sessions) : sessions_(sessions), id_(sessions.open()) {}
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;
  ~OpenSession() { sessions_.close(id_); }
  [[nodiscard]] const rdma::shm::SessionId& id() const noexcept { return id_; }

 private:
  ShmSessions& sessions_;
  const rdma::shm::SessionId id_;
};

class ShmService final : public TransferService {
 public:
  ShmService(UniqueFd listener, std::string path, Dma dma, const ShmRules& rules)
      : path_(std::move(path)),
        dma_(dma),
        budget_(rules.limits),
        acceptor_(std::move(listener), rules.users, budget_,
                  [this](const std::stop_token& stop, int socket, uid_t user) {
                    serve_client(stop, socket, user);
                  }) {}
  ~ShmService() override {
    acceptor_.stop();
    if (path_.front() != '@') ::unlink(path_.c_str());
  }

  [[nodiscard]] bool moves_bytes(std::string_view) const override { return dma_ != Dma::kNone; }

  [[nodiscard]] Result<std::uint64_t> window_size(std::string_view token) override {
    const auto parsed = parse(token);
    if (!parsed) return std::unexpected(parsed.error());
    return parsed->size_bytes;
  }

  [[nodiscard]] Result<void> write_part(std::string_view token, std::uint64_t window_offset, int fd,
                                        std::uint64_t file_offset, std::uint64_t length) override {
    const Part part{.offset = window_offset, .length = length};
    if (dma_ == Dma::kNone) {
      const auto checked = check(token, WireAccess::kRemoteWrite, part);
      if (!checked) return std::unexpected(checked.error());
      return {};
    }
    return copy(token, WireAccess::kRemoteWrite, part, file_offset,
                [fd](std::byte* memory, std::size_t bytes, off_t offset) {
                  return ::pread(fd, memory, bytes, offset);
                });
  }

  [[nodiscard]] Result<void> read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                         std::uint64_t length) override {
    const Part part{.offset = 0, .length = length};
    if (dma_ == Dma::kNone) {
      const auto checked = check(token, WireAccess::kRemoteRead, part);
      if (!checked) return std::unexpected(checked.error());
      const auto end = static_cast<off_t>(file_offset + length);
      if (::ftruncate(fd, end) != 0) return fail_errno("ftruncate", errno);
      return {};
    }
    return copy(token, WireAccess::kRemoteRead, part, file_offset,
                [fd](std::byte* memory, std::size_t bytes, off_t offset) {
                  return ::pwrite(fd, memory, bytes, offset);
                });
  }

 private:
  static Result<rdma::shm::Token> parse(std::string_view text) {
    const auto token = rdma::shm::parse_token(text);
    if (!token) return fail(ErrorCode::kInvalidArgument, "the RDMA token is malformed");
    return *token;
  }

  /// The part of a window that is to be moved.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  /// A part of a token's window, and the region it is in, kept mapped.
  struct Destination {
    std::shared_ptr<ShmRegion> region;
    std::span<std::byte> part;
  };
  Result<Destination> check(std::string_view text, WireAccess access, const Part& part) {
    const auto token = parse(text);
    if (!token) return std::unexpected(token.error());
    const auto region = sessions_.find(*token, access);
    if (!region) return std::unexpected(region.error());
    const auto window = (*region)->window(token->offset_bytes, token->size_bytes);
    if (!window) return std::unexpected(window.error());
    if (part.offset > window->size() || part.length > window->size() - part.offset) {
      return fail(ErrorCode::kInvalidArgument, "the token's window is too small");
    }
    return Destination{.region = *region, .part = window->subspan(part.offset, part.length)};
  }

  /// The client whose messages a thread reads.
  struct Client {
    rdma::shm::SessionId session;
    uid_t user;
  };

  // Checks everything before the first byte moves; `move_some` is pread or pwrite.
  template <class MoveSome>
  Result<void> copy(std::string_view text, WireAccess access, const Part& part,
                    std::uint64_t file_offset, MoveSome move_some) {
    const auto to = check(text, access, part);
    if (!to) return std::unexpected(to.error());
    for (std::uint64_t done = 0; done < part.length;) {
      const ssize_t moved = move_some(to->part.data() + done, part.length - done,
                                      static_cast<off_t>(file_offset + done));
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return fail_errno("moving bytes through shared memory", errno);
      if (moved == 0) return fail(ErrorCode::kSystem, "the object's file is shorter than it was");
      done += static_cast<std::uint64_t>(moved);
    }
    return {};
  }

  void serve_client(const std::stop_token& stop, int socket, uid_t user) {
    const OpenSession session(sessions_);
    while (wait_readable(socket, stop)) {
      auto received = receive(socket);
      if (!received) break;
      const auto reply = answer({.session = session.id(), .user = user}, *received);
      if (!reply) break;
      // A client reads each answer before it asks on. One that does not must not block us.
      if (::send(socket, &*reply, sizeof(*reply), MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(sizeof(*reply)))
        break;
    }
  }

  std::optional<Message> answer(const Client& client, const Received& received) {
    const Message& request = received.message;
    Message reply{};
    switch (request.type) {
      case MessageType::kHello:
        reply.type = MessageType::kWelcome;
        reply.version = rdma::shm::kWireVersion;
        reply.session_id = client.session;
        return reply;
      case MessageType::kRegister: {
        const auto key = add_region(client, request, received.fd.get());
        reply.type = key ? MessageType::kRegistered : MessageType::kRefused;
        reply.region_key = key ? *key : 0;
        reply.error = key ? 0 : (key.error().code == ErrorCode::kNoMemory ? ENOMEM : EINVAL);
        if (!key) log::warn("shm: region refused: {}", key.error().detail);
        return reply;
      }
      case MessageType::kDeregister:
        sessions_.remove(client.session, request.region_key);
        reply.type = MessageType::kDeregistered;
        reply.region_key = request.region_key;
        return reply;
      default:
        return std::nullopt;
    }
  }

  Result<std::uint64_t> add_region(const Client& client, const Message& request, int fd) {
    if (request.access != WireAccess::kRemoteWrite && request.access != WireAccess::kRemoteRead) {
      return fail(ErrorCode::kInvalidArgument, "unknown access");
    }
    auto share =
        budget_.take(client.user, {.sessions = 0, .regions = 1, .bytes = request.length_bytes});
    if (!share) return std::unexpected(share.error());
    auto region = ShmRegion::map(fd, request.offset_bytes, request.length_bytes, request.access,
                                 std::move(*share));
    if (!region) return std::unexpected(region.error());
    return sessions_.add(client.session, std::move(*region));
  }

  const std::string path_;
  const Dma dma_;
  ShmBudget budget_;
  ShmSessions sessions_;
  ShmAcceptor acceptor_;  // last: ends before what its clients use
};

}  // namespace

Result<std::unique_ptr<TransferService>> make_shm_service(const std::string& socket_name, Dma dma,
                                                          const ShmRules& rules) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_name.empty() || socket_name.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kInvalidArgument,
                "'" + socket_name + "' is not a name for a UNIX socket");
  }
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());

  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!listener) return fail_errno("socket", errno);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno == EADDRINUSE) {
      return fail(ErrorCode::kExists, "another server listens on shm socket " + socket_name);
    }
    return fail_errno("bind " + socket_name, errno);
  }
  constexpr int kBacklog = 64;  // mounts of one host that start at the same moment
  if (::listen(listener.get(), kBacklog) != 0) return fail_errno("listen", errno);
  return std::make_unique<ShmService>(std::move(listener), socket_name, dma, rules);
}

Result<std::unique_ptr<TransferService>> make_shm_service_if_free(const std::string& socket_name,
                                                                  Dma dma, const ShmRules& rules) {
  auto service = make_shm_service(socket_name, dma, rules);
  if (service || service.error().code != ErrorCode::kExists) return service;
  log::warn("shm: {}; going on without the shm fabric", service.error().detail);
  return nullptr;
}

}  // namespace s3rdmafs::target
