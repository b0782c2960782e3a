// SPDX-License-Identifier: Apache-2.0
// Which request gets which session, and what becomes of sessions that broke. The pool's thread
// runs; the test alone advances the clock.
#include "rdma/verbs/session_pool.h"

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_session_maker.h"

namespace s3rdmafs::rdma::verbs {
namespace {

using namespace std::chrono_literals;
using Lease = SessionPool::Lease;

/// A FakeClock that counts how often a thread waited by it.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override { return fake_.now(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override {
    return fake_.wall_now();
  }
  bool wait_until(CondVar& condition, Mutex& mutex, Deadline deadline) const
      REQUIRES(mutex) override {
    ++waits_;
    return fake_.wait_until(condition, mutex, deadline);
  }
  void advance(std::chrono::nanoseconds time) { fake_.advance(time); }
  [[nodiscard]] int waits() const { return waits_; }

 private:
  fakes::FakeClock fake_;
  mutable std::atomic<int> waits_{0};
};

/// One request's wait.
class Wait {
 public:
  Done<Lease> done() {
    return [this](Result<Lease> lease) {
      result_ = std::move(lease);
      is_over_ = true;
    };
  }
  [[nodiscard]] bool is_over() const { return is_over_; }
  Lease lease() {
    EXPECT_TRUE(fakes::eventually([this] { return is_over(); }));
    return std::move(result_).value();
  }
  ErrorCode error() {
    EXPECT_TRUE(fakes::eventually([this] { return is_over(); }));
    return result_.error().code;
  }

 private:
  Result<Lease> result_ = fail(ErrorCode::kSystem, "");
  std::atomic<bool> is_over_{false};
};

class SessionPoolTest : public ::testing::Test {
 protected:
  SessionPool& pool(unsigned sessions_max = 2) {
    if (!pool_) pool_.emplace(maker_, sessions_max, clock_, metrics_);
    return *pool_;
  }
  void acquire(Wait& wait) { pool().acquire(clock_.now() + 1h, wait.done()); }
  Lease take() {
    Wait wait;
    acquire(wait);
    return wait.lease();
  }
  /// Which session the next request gets; it is answered.
  std::string next_id() {
    Lease lease = take();
    std::string id = lease.session->id();
    pool().give_back(std::move(lease), TokenFate::kAnswered);
    return id;
  }
  /// Returns when the pool's thread has done all that there is to do now. It may have looked around
  /// just before this was called, and then waits once without having seen what changed.
  void let_the_thread_look() {
    const int before = clock_.waits();
    ASSERT_TRUE(fakes::eventually([&] { return clock_.waits() >= before + 2; }));
  }
  bool has_alive(int count) {
    return fakes::eventually([&] { return maker_.alive() == count; });
  }

  CountingClock clock_;
  metrics::Registry metrics_;
  fakes::FakeSessionMaker maker_;
  std::optional<SessionPool> pool_;  // last: its thread uses the others
};

TEST_F(SessionPoolTest, HasOneSessionFromTheStartAndLendsItAtOnce) {
  EXPECT_TRUE(pool().is_up());
  Wait wait;
  acquire(wait);
  ASSERT_TRUE(wait.is_over()) << "on the caller's thread";
  Lease lease = wait.lease();
  EXPECT_EQ(lease.session->id(), "1");
  pool().give_back(std::move(lease), TokenFate::kAnswered);
  Lease again = take();
  EXPECT_EQ(again.session->id(), "1");
  pool().give_back(std::move(again), TokenFate::kUnsent);
  EXPECT_EQ(maker_.attempts(), 1);
}

TEST_F(SessionPoolTest, MakesAnotherWhenNoneIsIdleUpToItsLimit) {
  Lease first = take();
  Lease second = take();
  EXPECT_EQ(maker_.alive(), 2);
  Wait third;
  acquire(third);
  let_the_thread_look();
  EXPECT_FALSE(third.is_over());
  EXPECT_EQ(maker_.attempts(), 2) << "two are the limit";
  pool().give_back(std::move(second), TokenFate::kAnswered);
  ASSERT_TRUE(third.is_over());
  pool().give_back(third.lease(), TokenFate::kAnswered);
  pool().give_back(std::move(first), TokenFate::kAnswered);
}

TEST_F(SessionPoolTest, ServesTheFirstRequestFirst) {
  Lease only = (pool(1), take());
  Wait early;
  Wait late;
  acquire(early);
  acquire(late);
  pool().give_back(std::move(only), TokenFate::kAnswered);
  ASSERT_TRUE(early.is_over());
  EXPECT_FALSE(late.is_over());
  pool().give_back(early.lease(), TokenFate::kAnswered);
  ASSERT_TRUE(late.is_over());
  pool().give_back(late.lease(), TokenFate::kAnswered);
}

// The server has destroyed its side, or may still be writing: never again through this one.
TEST_F(SessionPoolTest, DestroysABrokenSessionAndTheIdleOnes) {
  for (const TokenFate fate : {TokenFate::kTransferFailed, TokenFate::kUnanswered}) {
    Lease broken = take();
    const std::string id = broken.session->id();
    Lease other = take();
    pool().give_back(std::move(other), TokenFate::kAnswered);
    pool().give_back(std::move(broken), fate);
    EXPECT_TRUE(has_alive(0)) << "a restarted server has forgotten the idle one too";
    EXPECT_NE(next_id(), id);
  }
  EXPECT_EQ(metrics_.counter("rdma_rc_sessions_broken_total", "").value(), 2U);
}

TEST_F(SessionPoolTest, UsesNoSessionAgainOnceTheServerMayHaveBeenRestarted) {
  Lease unsent = (pool(/*sessions_max=*/3), take());
  Lease answered = take();
  Lease idle = take();
  const std::vector<std::string> old = {unsent.session->id(), answered.session->id(),
                                        idle.session->id()};
  pool().give_back(std::move(idle), TokenFate::kAnswered);
  pool().drop_all();
  EXPECT_TRUE(has_alive(2)) << "the idle one is gone at once";
  pool().give_back(std::move(unsent), TokenFate::kUnsent);
  pool().give_back(std::move(answered), TokenFate::kAnswered);
  EXPECT_TRUE(has_alive(0))
      << "and those on loan when they come back, however their requests ended";
  Lease fresh = take();
  EXPECT_THAT(old, testing::Not(testing::Contains(fresh.session->id())));
  pool().give_back(std::move(fresh), TokenFate::kUnsent);
  EXPECT_EQ(metrics_.counter("rdma_rc_sessions_broken_total", "").value(), 0U);
  EXPECT_TRUE(pool().is_up());
}

// The control of both.
TEST_F(SessionPoolTest, DestroysOnlyTheSessionOfARequestThatWasGivenUp) {
  Lease slow = take();
  Lease other = take();
  const std::string other_id = other.session->id();
  pool().give_back(std::move(other), TokenFate::kAnswered);
  pool().give_back(std::move(slow), TokenFate::kGivenUp);
  EXPECT_TRUE(has_alive(1));
  EXPECT_EQ(next_id(), other_id);
  EXPECT_EQ(metrics_.counter("rdma_rc_sessions_broken_total", "").value(), 0U);
}

TEST_F(SessionPoolTest, BoundsAWait) {
  Lease only = (pool(1), take());
  Wait wait;
  acquire(wait);
  clock_.advance(SessionPool::kPatience - 1ms);
  let_the_thread_look();
  EXPECT_FALSE(wait.is_over());
  clock_.advance(1ms);
  EXPECT_EQ(wait.error(), ErrorCode::kUnreachable);
  pool().give_back(std::move(only), TokenFate::kAnswered);
}

TEST_F(SessionPoolTest, EndsAWaitAtItsOwnDeadlineAfterOneThatWaitsLonger) {
  Lease only = (pool(1), take());
  Wait patient;
  acquire(patient);
  Wait hurried;
  pool().acquire(clock_.now() + 10ms, hurried.done());
  clock_.advance(10ms);
  EXPECT_EQ(hurried.error(), ErrorCode::kUnreachable);
  EXPECT_FALSE(patient.is_over());
  pool().give_back(std::move(only), TokenFate::kAnswered);
  pool().give_back(patient.lease(), TokenFate::kAnswered);
}

TEST_F(SessionPoolTest, IsDownWhileTheServerIsAndComesBackByItself) {
  maker_.refuse(Error{ErrorCode::kUnreachable, "connection refused"});
  EXPECT_FALSE(pool().is_up());
  Wait wait;
  acquire(wait);
  ASSERT_TRUE(wait.is_over()) << "no request waits for a server that is down";
  EXPECT_EQ(wait.error(), ErrorCode::kUnreachable);
  maker_.refuse(std::nullopt);
  clock_.advance(SessionPool::kRetryInterval - 1ms);
  let_the_thread_look();
  EXPECT_FALSE(pool().is_up()) << "not before the interval is over";
  clock_.advance(1ms);
  EXPECT_TRUE(fakes::eventually([this] { return pool().is_up(); }));
}

TEST_F(SessionPoolTest, AsksAServerWithoutRcSeldom) {
  maker_.refuse(Error{ErrorCode::kUnsupported, "404"});
  EXPECT_FALSE(pool().is_up());
  clock_.advance(SessionPool::kUnsupportedInterval - 1ms);
  let_the_thread_look();
  EXPECT_EQ(maker_.attempts(), 1);
  clock_.advance(1ms);
  EXPECT_TRUE(fakes::eventually([this] { return maker_.attempts() == 2; }));
}

TEST_F(SessionPoolTest, LetsGoOfASessionThatWasIdleForLong) {
  EXPECT_TRUE(pool().is_up());
  clock_.advance(SessionPool::kIdleMax);
  EXPECT_TRUE(has_alive(0));
  EXPECT_TRUE(fakes::eventually([this] { return !maker_.disconnected().empty(); }));
  EXPECT_THAT(maker_.disconnected(), testing::ElementsAre("1"));
}

TEST_F(SessionPoolTest, StartsAgainWithAnotherDevice) {
  Lease of_the_old = take();
  pool().restart(/*enabled=*/false);
  EXPECT_FALSE(pool().is_up());
  Wait wait;
  acquire(wait);
  EXPECT_EQ(wait.error(), ErrorCode::kUnreachable);
  pool().restart(/*enabled=*/true);
  EXPECT_TRUE(pool().is_up());
  pool().give_back(std::move(of_the_old), TokenFate::kAnswered);
  EXPECT_TRUE(has_alive(0)) << "its queue pair is of a protection domain that is gone";
  EXPECT_EQ(next_id(), "2");
}

TEST_F(SessionPoolTest, KeepsItsNewSessionsWhenAnOldOneTurnsOutToBeBroken) {
  Lease of_the_old = take();
  pool().restart(/*enabled=*/true);
  Lease fresh = take();
  pool().give_back(std::move(fresh), TokenFate::kAnswered);
  pool().give_back(std::move(of_the_old), TokenFate::kTransferFailed);
  EXPECT_TRUE(has_alive(1)) << "that the old device failed says nothing about the new one";
  EXPECT_EQ(next_id(), "2");
}

TEST_F(SessionPoolTest, EndsWaitsWhenItIsShutDown) {
  Lease only = (pool(1), take());
  Wait wait;
  acquire(wait);
  pool().shut_down();
  ASSERT_TRUE(wait.is_over());
  EXPECT_EQ(wait.error(), ErrorCode::kCancelled);
  Wait late;
  acquire(late);
  EXPECT_EQ(late.error(), ErrorCode::kCancelled);
  pool().give_back(std::move(only), TokenFate::kAnswered);
}

TEST_F(SessionPoolTest, ServesManyThreadsAtOnceOverFewSessions) {
  constexpr int kThreads = 32;
  constexpr int kTurns = 50;
  pool(8);
  std::atomic<int> in_use{0};
  std::atomic<int> most{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < kTurns; ++turn) {
          Lease lease = take();
          int seen = ++in_use;
          for (int old = most; seen > old && !most.compare_exchange_weak(old, seen);) {
          }
          std::this_thread::sleep_for(100us);  // the request
          --in_use;
          pool().give_back(std::move(lease),
                           turn % 10 == i % 10 ? TokenFate::kTransferFailed : TokenFate::kAnswered);
        }
      });
    }
  }
  EXPECT_LE(most, 8);
  EXPECT_GT(most, 1);
  EXPECT_LE(maker_.alive(), 8);
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
