// SPDX-License-Identifier: Apache-2.0
// One thread polls the listener, the connections that have no request under way, and an eventfd by
// which the thread that answers says that a connection is to be polled again. A connection is a
// shared object, since an answer may come after the program has left.
//
// A descriptor that a program passes is closed here. On a mount that only reads, the kernel sends
// no request for that (FOPEN_NOFLUSH), so this thread never waits for the daemon's own workers.
#include "daemon/attach/attach_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "metrics/stats_socket.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unix_socket.h"
#include "s3rdmafs/client/descriptor_message.h"

namespace s3rdmafs::daemon {
namespace {

using attach::Reply;
using attach::Request;

// Sixteen for each of 64 processes; a program beyond that reads through the mount. It hears so at
// once: a connection that waited to be accepted would hold it up.
constexpr std::size_t kConnectionsMax = 1024;
// Of one user, so that no program takes those of other users.
constexpr std::size_t kConnectionsOfUserMax = kConnectionsMax / 2;
// The eventfd ends a wait; the bound is for the case that it could not be written.
constexpr std::chrono::milliseconds kPollTime{1000};
// How long a process that can take no more descriptors waits before it looks again.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

class AttachSocket::Waker {
 public:
  explicit Waker(UniqueFd event) : event_(std::move(event)) {}
  void wake() const { static_cast<void>(::eventfd_write(event_.get(), 1)); }
  void drain() const {
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(event_.get(), &count));
  }
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

 private:
  const UniqueFd event_;
};

class AttachSocket::Connection {
 public:
  Connection(UniqueFd socket, uid_t user, std::shared_ptr<AttachService::Process> process,
             std::shared_ptr<Waker> waker)
      : socket_(std::move(socket)),
        user_(user),
        process_(std::move(process)),
        waker_(std::move(waker)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] uid_t user() const noexcept { return user_; }
  [[nodiscard]] const std::shared_ptr<AttachService::Process>& process() const { return process_; }
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }
  void set_busy(bool is_busy) noexcept { is_busy_ = is_busy; }

  /// Sends an answer, and takes the next request.
  void answer(const AttachService::Answer& answer) {
    Reply reply = answer.reply;
    // One answer for each request: the buffer of a program that takes its answers is empty.
    const ssize_t sent = attach::DescriptorMessage(&reply, sizeof(reply))
                             .send(socket_.get(), answer.descriptor.get());
    if (sent != sizeof(reply)) ::shutdown(socket_.get(), SHUT_RDWR);
    is_busy_ = false;
    waker_->wake();
  }

 private:
  const UniqueFd socket_;
  const uid_t user_;
  const std::shared_ptr<AttachService::Process> process_;
  const std::shared_ptr<Waker> waker_;
  std::atomic<bool> is_busy_{false};
};

std::string attach_socket_path(std::string_view mount_point) {
  // The other sockets' folder is closed to other users; this one is beside it.
  const std::filesystem::path other = metrics::stats_socket_path(mount_point);
  return other.parent_path().string() + "-attach/" + other.filename().string();
}

Result<std::unique_ptr<AttachSocket>> AttachSocket::listen(std::string path,
                                                           AttachService& service) {
  auto listener = listen_on_unix_socket(path, {.type = SOCK_SEQPACKET, .for_all_users = true});
  if (!listener) return std::unexpected(listener.error());
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno("eventfd", errno);
  return std::unique_ptr<AttachSocket>(new AttachSocket(
      std::move(path), service, std::move(*listener), std::make_shared<Waker>(std::move(event))));
}

AttachSocket::AttachSocket(std::string path, AttachService& service, UniqueFd listener,
                           std::shared_ptr<Waker> waker)
    : path_(std::move(path)),
      service_(service),
      listener_(std::move(listener)),
      waker_(std::move(waker)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

AttachSocket::~AttachSocket() {
  thread_.request_stop();
  waker_->wake();
  thread_.join();
  ::unlink(path_.c_str());
}

void AttachSocket::run(const std::stop_token& stop) {
  set_thread_name("attach");
  std::vector<pollfd> watched;
  while (!stop.stop_requested()) {
    watched.assign({{.fd = waker_->fd(), .events = POLLIN, .revents = 0},
                    {.fd = listener_.get(), .events = POLLIN, .revents = 0}});
    for (const auto& connection : connections_) {
      // A program that leaves is noticed when its request has been answered.
      const int fd = connection->is_busy() ? -1 : connection->fd();
      watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    if (::poll(watched.data(), watched.size(), kPollTime.count()) <= 0) continue;
    if (watched[0].revents != 0) waker_->drain();
    std::vector<std::shared_ptr<Connection>> left;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (watched[i + 2].revents != 0 && !receive(connections_[i])) left.push_back(connections_[i]);
    }
    std::erase_if(connections_,
                  [&](const auto& one) { return std::ranges::find(left, one) != left.end(); });
    if (watched[1].revents != 0) accept();
  }
  connections_.clear();
}

void AttachSocket::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {  // without a free descriptor poll(2) would say so again at once
    std::this_thread::sleep_for(kPause);
    return;
  }
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  const auto of_user = std::ranges::count(connections_, peer.uid, &Connection::user);
  if (connections_.size() >= kConnectionsMax ||
      static_cast<std::size_t>(of_user) >= kConnectionsOfUserMax) {
    return;
  }
  connections_.push_back(
      std::make_shared<Connection>(std::move(socket), peer.uid, service_.join(peer.pid), waker_));
}

bool AttachSocket::receive(const std::shared_ptr<Connection>& connection) {
  Request request;
  attach::DescriptorMessage message(&request, sizeof(request));
  const ssize_t n = message.receive(connection->fd());
  const auto came = message.received();
  std::array<UniqueFd, attach::DescriptorMessage::kReceivedMax> descriptors;
  for (std::size_t i = 0; i < came.count; ++i) descriptors.at(i).reset(came.all.at(i));
  if (n != sizeof(request) || message.is_cut() || came.count > 1) return false;
  connection->set_busy(true);
  const bool has_answer = request.kind != attach::Kind::kPrefetch &&
                          request.kind != attach::Kind::kRelease &&
                          request.kind != attach::Kind::kClose;
  service_.serve(connection->process(), request, std::move(descriptors.front()),
                 [connection](const AttachService::Answer& answer) { connection->answer(answer); });
  if (!has_answer) connection->set_busy(false);
  return true;
}

}  // namespace s3rdmafs::daemon
