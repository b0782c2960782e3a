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
#include <utility>
#include <vector>

#include "rdma/token.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/cooldown.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::rdma::verbs {

/// A queue pair of ours, connected to one of the server's: an "rc:" token names it.
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
  /// Blocks for a bounded time. Errors: kUnsupported (the server does not speak rc), kUnreachable,
  /// kTimedOut, kServerError, kSystem (the device), kCancelled.
  [[nodiscard]] virtual Result<std::unique_ptr<Session>> connect() = 0;
  /// Tells the server to forget a session. Best effort, bounded.
  virtual void disconnect(const std::string& session_id) = 0;
  /// Any thread. A call under way ends soon and every later one at once, with kCancelled.
  virtual void cancel() noexcept = 0;
};

/// The sessions with one server. A session serves one request at a time (s3rdmafs-protocol(7)), so
/// a request borrows one: an idle one at once, else the next that comes free or is made. Requests
/// that wait are served in their order. Thread-safe.
class SessionPool {
 public:
  /// The longest wait for a session. Making one takes two round trips, and a request holds one for
  /// some milliseconds. A handshake that loses its SYN and then the answer takes TCP 3 s more
  /// (RFC 6298 section 2). A request that waits longer than this is faster by HTTP.
  static constexpr std::chrono::milliseconds kPatience{4000};
  /// An idle session is closed after this long: servers drop theirs after 300 s
  /// (s3rdmafs-protocol(7)).
  static constexpr std::chrono::seconds kIdleMax{240};
  /// The pause after an attempt that failed.
  static constexpr std::chrono::milliseconds kRetryInterval{1000};
  /// The pause after a server answered that it does not speak rc.
  static constexpr std::chrono::seconds kUnsupportedInterval{30};

  /// A session on loan.
  struct Lease {
    std::unique_ptr<Session> session;
    std::uint64_t generation = 0;  ///< the pool's when it was made; another one: not used again
  };

  /// Borrows maker, clock and metrics. Makes the first session at once, on this thread; is_up()
  /// says whether that worked.
  /// @param sessions_max  at least 1
  SessionPool(SessionMaker& maker, unsigned sessions_max, const Clock& clock,
              metrics::Registry& metrics);
  /// Shuts down. Every lease must have been given back.
  ~SessionPool();

  /// Errors: kUnreachable (with the reason why there is none), kCancelled.
  void acquire(Deadline deadline, Done<Lease> done) EXCLUDES(mutex_);

  /// After kAnswered and kUnsent the session serves the next request. After any other fate it is
  /// destroyed, since the server has destroyed its side or may still be writing. Does not block.
  void give_back(Lease session, TokenFate fate) EXCLUDES(mutex_);

  /// Destroys all sessions, those on loan when they come back: the server may have been restarted
  /// and have forgotten them. Does not block.
  void drop_all() EXCLUDES(mutex_);

  /// Destroys all sessions, those on loan when they come back. After false no session is lent or
  /// made until this is called with true.
  void restart(bool enabled) EXCLUDES(mutex_);

  /// Whether requests get sessions: the last attempt to make one worked, and restart() has not
  /// disabled the pool.
  [[nodiscard]] bool is_up() const noexcept { return is_up_.load(); }

  /// Ends every wait with kCancelled, and every later one at once. Returns when no wait is left.
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
  /// Work that is done after the lock was released.
  struct Work {
    std::optional<std::pair<Done<Lease>, Lease>> lent;
    std::vector<std::pair<Done<Lease>, Error>> failures;
    std::vector<std::unique_ptr<Session>> destroyed;
    std::vector<std::string> disconnected;  // sessions the server may forget
    bool make_one = false;
  };

  void run(const std::stop_token& stop);
  [[nodiscard]] Work wait_for_work(const std::stop_token& stop) EXCLUDES(mutex_);
  void collect(Work& work) REQUIRES(mutex_);
  [[nodiscard]] bool should_make_one() const REQUIRES(mutex_);
  [[nodiscard]] Deadline next_due() const REQUIRES(mutex_);
  void make_one() EXCLUDES(mutex_);
  void add_session(Lease lease, Work& work) REQUIRES(mutex_);
  void note_refusal(Error error, Work& work) REQUIRES(mutex_);
  void carry_out(Work work) EXCLUDES(mutex_);
  void fail_waiters(Work& work, const Error& error) REQUIRES(mutex_);
  void put_idle(Lease lease) REQUIRES(mutex_);
  void retire_idle() REQUIRES(mutex_);
  void count_open(int change) REQUIRES(mutex_);
  void update_is_up() REQUIRES(mutex_);

  SessionMaker& maker_;
  const unsigned sessions_max_;
  const Clock& clock_;
  Cooldown retry_;  // after an attempt that failed
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
  std::atomic<bool> is_up_{false};                   // changes under mutex_ only

  std::jthread thread_;  // last: stopped before anything it uses is gone
};

}  // namespace s3rdmafs::rdma::verbs
