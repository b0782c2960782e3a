// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/shm/shm_acceptor.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::target {
namespace {

Result<uid_t> user_of(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return fail_errno("SO_PEERCRED", errno);
  }
  return peer.uid;
}

}  // namespace

bool wait_readable(int fd, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, kShmPollMs) > 0) return true;
  }
  return false;
}

ShmAcceptor::ShmAcceptor(UniqueFd listener, const ShmUsers& users, ShmBudget& budget, Serve serve,
                         StartThread start_thread)
    : listener_(std::move(listener)),
      users_(users),
      budget_(budget),
      serve_(std::move(serve)),
      start_thread_(std::move(start_thread)),
      thread_([this](const std::stop_token& stop) { accept_clients(stop); }) {}

void ShmAcceptor::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  // All are told before the first is waited for.
  for (Client& client : clients_) client.thread.request_stop();
  clients_.clear();
}

void ShmAcceptor::accept_clients(const std::stop_token& stop) {
  set_thread_name("shm-accept");
  while (wait_readable(listener_.get(), stop)) {
    try {
      accept_one();
    } catch (const std::exception& problem) {
      log::warn("shm: {}; the client was disconnected", problem.what());
    }
  }
}

void ShmAcceptor::accept_one() {
  clients_.remove_if([](const Client& client) { return client.has_ended.load(); });
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {
    // The connection stays in the queue, and poll(2) reports it again at once.
    log::warn("shm: a client cannot be accepted: {}; trying again in {} ms", std::strerror(errno),
              kShmPollMs);
    ::poll(nullptr, 0, kShmPollMs);
    return;
  }
  const auto user = user_of(socket.get());
  if (!user) {
    note_refusal(user.error().detail);
  } else if (!users_.serves(*user)) {
    note_refusal(fmt::format("user {} is not served (--shm-uid)", *user));
  } else {
    start(std::move(socket), *user);
  }
}

void ShmAcceptor::start(UniqueFd socket, uid_t user) {
  auto share = budget_.take(user, {.sessions = 1, .regions = 0, .bytes = 0});
  if (!share) {
    note_refusal(share.error().detail);
    return;
  }
  // std::function copies its target, so the socket is shared.
  const auto owned = std::make_shared<UniqueFd>(std::move(socket));
  Client& client = clients_.emplace_back(std::move(*share));
  try {
    client.thread = start_thread_([this, &client, owned, user](const std::stop_token& stop) {
      run(client, stop, owned->get(), user);
    });
  } catch (...) {
    clients_.pop_back();
    throw;
  }
}

// A mount that was refused tries again every half second: each reason is logged once in a row.
void ShmAcceptor::note_refusal(std::string why) {
  if (why != last_refusal_) log::warn("shm: {}; the client was disconnected", why);
  last_refusal_ = std::move(why);
}

void ShmAcceptor::run(Client& client, const std::stop_token& stop, int socket,
                      uid_t user) const noexcept {
  try {
    set_thread_name("shm-session");
    serve_(stop, socket, user);
  } catch (const std::exception& problem) {
    log::warn("shm: {}; the client of user {} was disconnected", problem.what(), user);
  }
  client.has_ended.store(true);
}

}  // namespace s3rdmafs::target
