// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rdma/token.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::rdma::verbs {

/// A queue pair of ours and one of the server's, connected: what stands behind an "rc:" token.
/// Destroying it destroys our queue pair, after which nothing reaches our memory through it.
class Session {
 public:
  virtual ~Session() = default;
  /// The server's name for it: 32 hex digits.
  [[nodiscard]] virtual const std::string& id() const noexcept = 0;
};

/// Makes sessions. Used by one thread at a time, but for cancel().
class SessionMaker {
 public:
  virtual ~SessionMaker() = default;
  /// Blocks for a bounded time. Errors: kUnsupported (the server does no rc), kUnreachable,
  /// kTimedOut, kServerError, kSystem (the device), kCancelled.
  [[nodiscard]] virtual Result<std::unique_ptr<Session>> connect() = 0;
  /// Tells the server to forget a session. Best effort, bounded.
  virtual void disconnect(const std::string& session_id) = 0;
  /// Any thread: what is under way ends soon, and everything later at once, with kCancelled.
  virtual void cancel() noexcept = 0;
};

/// The sessions with one server. A session serves one request at a time (s3rdmafs-protocol(7)),
/// so a request borrows one: an idle one at once, else the next to come free or to be made,
/// first come, first served. Thread-safe.
class SessionPool {
 public:
  /// The longest wait for a session. Making one takes two round trips and a request that holds one
  /// some milliseconds, but a handshake that loses its SYN and then the answer to it takes TCP 3 s
  /// more (RFC 6298 section 2); where that is not enough HTTP is faster.
  static constexpr std::chrono::milliseconds kPatience{4000};
  /// Servers drop what was idle for 300 s (s3rdmafs-protocol(7)): let go well before.
  static constexpr std::chrono::seconds kIdleMax{240};
  /// How soon a server that could not be reached is tried again...
  static constexpr std::chrono::milliseconds kRetryInterval{1000};
  /// ...and one that said that it does no rc.
  static constexpr std::chrono::seconds kUnsupportedInterval{30};

  /// A session on loan.
  struct Lease {
    std::unique_ptr<Session> session;
    std::uint64_t generation = 0;  ///< the pool's: which restart it was made after
  };

  /// Borrows maker, clock and metrics. Makes the first session at once, on this thread: whether
  /// that works is what is_up() says.
  /// @param sessions_max  at least 1
  SessionPool(SessionMaker& maker, unsigned sessions_max, const Clock& clock,
              metrics::Registry& metrics);
  /// Shuts down. Every lease must be back.
  ~SessionPool();

  /// Errors: kUnreachable (with the reason why there is none), kCancelled.
  void acquire(Deadline deadline, Done<Lease> done) EXCLUDES(mutex_);

  /// kAnswered and kUnsent: to the next one who waits. Everything else: destroyed, since the server
  /// has destroyed its side or may still be writing. Does not block.
  void give_back(Lease session, TokenFate fate) EXCLUDES(mutex_);

  /// The server may have been restarted and have forgotten every session: all there are are
  /// destroyed, those on loan when they come back. Does not block.
  void drop_all() EXCLUDES(mutex_);

  /// False: no session is given out or made until true. Either way all there are are destroyed,
  /// those on loan when they come back.
  void restart(bool enabled) EXCLUDES(mutex_);

  /// Whether sessions can be had: the last attempt to make one worked, and nobody disabled it.
  [[nodiscard]] bool is_up() const noexcept { return is_up_.load(); }

  /// Ends every wait with kCancelled, and every later one at once; returns when no wait is left.
  /// The server is not told: it drops idle sessions itself, and an unmount must not wait for it.
  void shut_down() EXCLUDES(mutex_);

 private:
  struct Waiter {
    Deadline until;
    Done<Lease> done;
  };
  struct Idle {
    std::unique_ptr<Session> session;
    std::chrono::steady_clock::time_point since;
  };
  /// What is to be done once the lock is gone.
  struct Work {
    std::vector<std::pair<Done<Lease>, Error>> failures;
    std::vector<std::unique_ptr<Session>> destroyed;
    std::vector<std::string> disconnected;  // sessions the server may forget
    bool make_one = false;
  };

  void run(const std::stop_token& stop);
  [[nodiscard]] Work wait_for_work(const std::stop_token& stop) EXCLUDES(mutex_);
  void collect(Work& work) REQUIRES(mutex_);
  [[nodiscard]] bool should_make_one() const REQUIRES(mutex_);
  void make_one() EXCLUDES(mutex_);
  void carry_out(Work work) EXCLUDES(mutex_);
  void fail_waiters(Work& work, const Error& error) REQUIRES(mutex_);
  void put_idle(Lease lease) REQUIRES(mutex_);
  void retire_idle() REQUIRES(mutex_);
  void count_open(int change) REQUIRES(mutex_);
  void update_is_up() REQUIRES(mutex_);

  SessionMaker& maker_;
  const unsigned sessions_max_;
  const Clock& clock_;
  metrics::Gauge& open_gauge_;
  metrics::Counter& made_;
  metrics::Counter& broken_;

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::deque<Waiter> waiters_ GUARDED_BY(mutex_);
  std::vector<Idle> idle_ GUARDED_BY(mutex_);                         // the last one was used last
  std::vector<std::unique_ptr<Session>> retired_ GUARDED_BY(mutex_);  // the thread destroys them
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;
  unsigned open_ GUARDED_BY(mutex_) = 0;  // idle, on loan, or being made
  bool enabled_ GUARDED_BY(mutex_) = true;
  bool shut_down_ GUARDED_BY(mutex_) = false;
  std::optional<Error> problem_ GUARDED_BY(mutex_);  // why the last attempt failed
  std::chrono::steady_clock::time_point retry_at_ GUARDED_BY(mutex_);
  std::atomic<bool> is_up_{false};  // changes under mutex_ only

  std::jthread thread_;  // last: stopped before anything it uses is gone
};

}  // namespace s3rdmafs::rdma::verbs
