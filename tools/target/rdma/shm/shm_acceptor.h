// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <list>
#include <stop_token>
#include <string>
#include <thread>

#include "s3rdmafs/base/unique_fd.h"
#include "target/rdma/shm/shm_budget.h"
#include "target/rdma/shm/shm_users.h"

namespace s3rdmafs::target {

/// How soon the threads of the shm service notice that it ends, in milliseconds; also how long the
/// acceptor waits where the kernel hands it no connection.
inline constexpr int kShmPollMs = 200;

/// Waits until `fd` has something to read. False when `stop` was requested.
[[nodiscard]] bool wait_readable(int fd, const std::stop_token& stop);

/// Accepts clients of the shm socket and serves each on a thread of its own. Whatever goes wrong
/// with a client (no descriptor, no thread, no memory, an exception) ends that client alone.
class ShmAcceptor {
 public:
  /// Serves one client until it hangs up or `stop`; the socket is closed afterwards. May throw.
  using Serve = std::function<void(const std::stop_token& stop, int socket, uid_t user)>;
  /// Starts a thread. Errors: throws std::system_error, as std::jthread does.
  using StartThread = std::function<std::jthread(std::function<void(const std::stop_token&)>)>;

  /// @param listener  listens already
  /// @param budget    borrowed; each client takes a session of it
  ShmAcceptor(UniqueFd listener, const ShmUsers& users, ShmBudget& budget, Serve serve,
              StartThread start_thread = &ShmAcceptor::start_jthread);
  ShmAcceptor(const ShmAcceptor&) = delete;
  ShmAcceptor& operator=(const ShmAcceptor&) = delete;
  ~ShmAcceptor() { stop(); }

  /// Stops accepting clients and ends every session. Returns when the last thread has ended.
  void stop();

 private:
  /// One client. Its share is given back after its thread was joined.
  struct Client {
    explicit Client(ShmBudget::Share granted) : share(std::move(granted)) {}
    ShmBudget::Share share;
    std::atomic<bool> has_ended{false};
    std::jthread thread;
  };

  static std::jthread start_jthread(std::function<void(const std::stop_token&)> run) {
    return std::jthread(std::move(run));
  }
  void accept_clients(const std::stop_token& stop);
  void accept_one();
  void start(UniqueFd socket, uid_t user);
  void note_refusal(std::string why);
  void run(Client& client, const std::stop_token& stop, int socket, uid_t user) const noexcept;

  const UniqueFd listener_;
  const ShmUsers users_;
  ShmBudget& budget_;
  const Serve serve_;
  const StartThread start_thread_;
  // Of the acceptor's thread alone, and of stop() after it.
  std::list<Client> clients_;
  std::string last_refusal_;
  std::jthread thread_;  // last: uses all of them
};

}  // namespace s3rdmafs::target
