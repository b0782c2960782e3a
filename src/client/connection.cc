// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "s3rdmafs/client/descriptor_message.h"

namespace s3rdmafs::client {
namespace {

using attach::Request;

// A daemon that hangs accepts no connection; its mount's own deadlines count then. It bounds
// connect(2) (unix(7)); messages are sent without a wait.
constexpr timeval kConnectTime{.tv_sec = 2, .tv_usec = 0};

// A daemon that sends another number of descriptors gets none taken.
sys::Descriptor one_of(const attach::DescriptorMessage::Received& came) {
  std::array<sys::Descriptor, attach::DescriptorMessage::kReceivedMax> all;
  for (std::size_t i = 0; i < came.count; ++i) all.at(i).reset(came.all.at(i));
  return came.count == 1 ? std::move(all.front()) : sys::Descriptor();
}

}  // namespace

std::optional<Connection> Connection::connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof(address.sun_path)) return std::nullopt;
  std::strcpy(address.sun_path, path);
  sys::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectTime, sizeof(kConnectTime)) !=
          0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return std::nullopt;
  }
  return Connection(OwnDescriptor(std::move(socket)));
}

std::optional<Connection::Answer> Connection::ask(const Request& request, int descriptor,
                                                  std::chrono::milliseconds time) {
  if (!send(request, descriptor)) return std::nullopt;
  return hear(time);
}

std::optional<Connection::Answer> Connection::hear(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd watched{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    const int ready = left.count() > 0 ? ::poll(&watched, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    return receive();
  }
}

bool Connection::send(const Request& request, int descriptor) {
  if (!socket_.is_intact()) return false;
  Request copy = request;
  // Small, and the daemon reads: the buffer has room unless the daemon hangs.
  return attach::DescriptorMessage(&copy, sizeof(copy)).send(socket_.number(), descriptor) ==
         sizeof(copy);
}

std::optional<Connection::Answer> Connection::receive() {
  Answer answer;
  attach::DescriptorMessage message(&answer.reply, sizeof(answer.reply));
  const ssize_t n = message.receive(socket_.number());
  answer.descriptor = one_of(message.received());
  if (n != sizeof(answer.reply) || message.is_cut() ||
      answer.reply.version != attach::kWireVersion) {
    return std::nullopt;
  }
  return answer;
}

}  // namespace s3rdmafs::client
