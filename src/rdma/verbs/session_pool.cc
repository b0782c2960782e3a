// SPDX-License-Identifier: Apache-2.0
//
// Why a pool. A session of this dialect serves one request at a time, and making one costs two
// round trips. So sessions are kept, as many as there were requests at once. One is made only when
// a request waits and none is idle.
//
// Broken sessions. The server destroys its side after any failed transfer, and after a request that
// was never answered it may still be writing. The thread destroys such a session, and the next
// request gets a new one. The idle ones are destroyed too: the likely cause is a server that was
// restarted and has forgotten them all, and each would cost a request its RDMA to find out. A
// connection that the server's host refused tells the same earlier: drop_all().
//
// Locks. mutex_ is a leaf: continuations, the maker and the destruction of sessions are left until
// it has been released.
//
// Cost. A request takes an idle session under one lock. The session used last is lent first, so
// that the ones that are not needed age until they are closed.
#include "rdma/verbs/session_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// The thread looks at least so often, though no session or request has a time that is due.
constexpr std::chrono::milliseconds kTick{1000};

}  // namespace

SessionPool::SessionPool(SessionMaker& maker, unsigned sessions_max, const Clock& clock,
                         metrics::Registry& metrics)
    : maker_(maker),
      sessions_max_(sessions_max),
      clock_(clock),
      retry_(clock),
      open_gauge_(metrics.gauge("rdma_rc_sessions", "RC sessions that are open.")),
      made_(metrics.counter("rdma_rc_sessions_made_total", "RC sessions that were made.")),
      broken_(metrics.counter("rdma_rc_sessions_broken_total",
                              "RC sessions destroyed after a transfer that failed or was not "
                              "answered.")) {
  {
    const MutexLock lock(mutex_);
    count_open(1);
  }
  make_one();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SessionPool::~SessionPool() { shut_down(); }

void SessionPool::acquire(Deadline deadline, Done<Lease> done) {
  Error error{ErrorCode::kCancelled, "the mount is going down"};
  std::optional<Lease> found;
  {
    const MutexLock lock(mutex_);
    if (!shut_down_ && enabled_ && !idle_.empty()) {
      found = Lease{.session = std::move(idle_.back().session), .generation = generation_};
      idle_.pop_back();
    } else if (!shut_down_ && enabled_ && (!problem_ || open_ > 0)) {
      waiters_.push_back(
          {.until = std::min(deadline, clock_.now() + kPatience), .done = std::move(done)});
      wake_.notify_one();
      return;
    } else if (!shut_down_) {
      error = problem_.value_or(Error{ErrorCode::kUnreachable, "the RDMA port is down"});
    }
  }
  if (found) return done(std::move(*found));
  done(std::unexpected(std::move(error)));
}

void SessionPool::give_back(Lease lease, TokenFate fate) {
  const bool is_good = fate == TokenFate::kAnswered || fate == TokenFate::kUnsent;
  // A server that is slow has forgotten no session; only this one may not be used again.
  const bool has_failed = !is_good && fate != TokenFate::kGivenUp;
  Done<Lease> next;
  {
    const MutexLock lock(mutex_);
    if (!is_good || shut_down_ || lease.generation != generation_) {
      if (has_failed) {
        broken_.add();
        if (lease.generation == generation_) retire_idle();
      }
      retired_.push_back(std::move(lease.session));
      wake_.notify_one();
      return;
    }
    if (waiters_.empty()) return put_idle(std::move(lease));
    next = std::move(waiters_.front().done);
    waiters_.pop_front();
  }
  next(std::move(lease));
}

void SessionPool::drop_all() {
  const MutexLock lock(mutex_);
  ++generation_;
  retire_idle();
  wake_.notify_one();
}

void SessionPool::restart(bool enabled) {
  Work work;
  {
    const MutexLock lock(mutex_);
    enabled_ = enabled;
    ++generation_;
    retire_idle();
    problem_.reset();
    if (!enabled) fail_waiters(work, {ErrorCode::kUnreachable, "the RDMA port is down"});
    update_is_up();
    wake_.notify_one();
  }
  carry_out(std::move(work));
}

void SessionPool::shut_down() {
  Work work;
  thread_.request_stop();  // before the thread is woken, so that it does not wait again
  {
    const MutexLock lock(mutex_);
    shut_down_ = true;
    fail_waiters(work, {ErrorCode::kCancelled, "the mount is going down"});
    update_is_up();
    wake_.notify_one();
  }
  maker_.cancel();
  if (thread_.joinable()) thread_.join();
  carry_out(std::move(work));
  const MutexLock lock(mutex_);
  idle_.clear();
  retired_.clear();
}

void SessionPool::run(const std::stop_token& stop) {
  set_thread_name("rdma-rc");
  while (!stop.stop_requested()) {
    Work work = wait_for_work(stop);
    const bool wanted = work.make_one;
    carry_out(std::move(work));
    if (wanted) make_one();
  }
}

SessionPool::Work SessionPool::wait_for_work(const std::stop_token& stop) {
  Work work;
  const MutexLock lock(mutex_);
  if (!stop.stop_requested() && retired_.empty() && !should_make_one()) {
    clock_.wait_until(wake_, mutex_, next_due());
  }
  collect(work);
  return work;
}

void SessionPool::collect(Work& work) {
  const auto now = clock_.now();
  // Each has a deadline of its own, so not from the front.
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if (waiter->until > now) {
      ++waiter;
      continue;
    }
    work.failures.emplace_back(
        std::move(waiter->done),
        Error{ErrorCode::kUnreachable, "no RC session came free in time (rdma.sessions_max)"});
    waiter = waiters_.erase(waiter);
  }
  // The front was unused for longest.
  while (!idle_.empty() && now - idle_.front().since >= kIdleMax) {
    work.disconnected.push_back(idle_.front().session->id());
    retired_.push_back(std::move(idle_.front().session));
    idle_.erase(idle_.begin());
  }
  work.destroyed = std::exchange(retired_, {});
  count_open(-static_cast<int>(work.destroyed.size()));
  work.make_one = should_make_one();
  if (work.make_one) count_open(1);
}

// After a failure one attempt an interval finds out whether the server is back, also while no
// request waits: requests that find the fabric down go by HTTP and ask for no session.
bool SessionPool::should_make_one() const {
  if (shut_down_ || !enabled_ || open_ >= sessions_max_) return false;
  return problem_ ? retry_.is_over() : !waiters_.empty();
}

// When collect() has something to do at the latest, if nothing happens before.
Deadline SessionPool::next_due() const {
  Deadline due = clock_.now() + kTick;
  for (const Waiter& waiter : waiters_) due = std::min(due, waiter.until);
  if (!idle_.empty()) due = std::min(due, idle_.front().since + kIdleMax);
  const bool may_retry = problem_ && !shut_down_ && enabled_ && open_ < sessions_max_;
  return may_retry ? std::min(due, retry_.ends_at()) : due;
}

void SessionPool::make_one() {
  std::uint64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    generation = generation_;
  }
  Result<std::unique_ptr<Session>> made = maker_.connect();
  Work work;
  {
    const MutexLock lock(mutex_);
    if (made) {
      add_session({.session = std::move(*made), .generation = generation}, work);
    } else {
      note_refusal(std::move(made.error()), work);
    }
    update_is_up();
  }
  carry_out(std::move(work));
}

void SessionPool::add_session(Lease lease, Work& work) {
  made_.add();
  problem_.reset();
  if (lease.generation != generation_ || shut_down_) {
    retired_.push_back(std::move(lease.session));
  } else if (waiters_.empty()) {
    put_idle(std::move(lease));
  } else {
    work.lent.emplace(std::move(waiters_.front().done), std::move(lease));
    waiters_.pop_front();
  }
}

void SessionPool::note_refusal(Error error, Work& work) {
  count_open(-1);
  if (!problem_ || problem_->detail != error.detail) {
    log::warn("rc: cannot make a session with the server: {}; trying again", error.detail);
  }
  retry_.start(error.code == ErrorCode::kUnsupported
                   ? std::chrono::milliseconds(kUnsupportedInterval)
                   : kRetryInterval);
  if (open_ == 0) fail_waiters(work, {ErrorCode::kUnreachable, error.detail});
  problem_ = std::move(error);
}

void SessionPool::carry_out(Work work) {
  if (work.lent) work.lent->first(std::move(work.lent->second));
  for (auto& [done, error] : work.failures) done(std::unexpected(std::move(error)));
  work.destroyed.clear();  // before the server is told: it may still be writing
  for (const std::string& id : work.disconnected) maker_.disconnect(id);
}

void SessionPool::fail_waiters(Work& work, const Error& error) {
  for (Waiter& waiter : waiters_) work.failures.emplace_back(std::move(waiter.done), error);
  waiters_.clear();
}

void SessionPool::retire_idle() {
  for (Idle& idle : idle_) retired_.push_back(std::move(idle.session));
  idle_.clear();
}

void SessionPool::put_idle(Lease lease) {
  idle_.push_back({.session = std::move(lease.session), .since = clock_.now()});
}

void SessionPool::count_open(int change) {
  open_ = static_cast<unsigned>(static_cast<int>(open_) + change);
  open_gauge_.set(open_);
}

void SessionPool::update_is_up() { is_up_ = enabled_ && !shut_down_ && (!problem_ || open_ > 0); }

}  // namespace s3rdmafs::rdma::verbs
