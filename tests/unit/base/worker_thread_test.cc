// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/worker_thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"

namespace s3rdmafs {
namespace {

class WorkerThreadTest : public testing::Test {
 protected:
  // Returns when the thread has run every job that was posted before.
  static void wait_for_jobs(WorkerThread& thread) {
    std::promise<void> done;
    auto is_done = done.get_future();
    ASSERT_TRUE(thread.post([&done] { done.set_value(); }));
    is_done.wait();
  }

  fakes::FakeClock clock_;
  std::atomic<int> ticks_{0};
};

TEST_F(WorkerThreadTest, RunsJobsInTheOrderInWhichTheyCame) {
  std::string order;
  WorkerThread thread("test", clock_, [] {});
  for (const char letter : {'a', 'b', 'c'}) {
    ASSERT_TRUE(thread.post([&order, letter] { order += letter; }));
  }
  wait_for_jobs(thread);
  EXPECT_EQ(order, "abc");
}

TEST_F(WorkerThreadTest, RunsTheJobsThatAreLeftAndThoseThatTheyPostBeforeItEnds) {
  int runs = 0;
  WorkerThread thread("test", clock_, [] {});
  thread.post([&] {
    ++runs;
    thread.post([&] { ++runs; });
  });
  thread.finish();
  EXPECT_EQ(runs, 2);
}

TEST_F(WorkerThreadTest, RefusesJobsAfterItHasEnded) {
  bool has_run = false;
  WorkerThread thread("test", clock_, [] {});
  thread.finish();
  EXPECT_FALSE(thread.post([&has_run] { has_run = true; }));
  EXPECT_FALSE(has_run);
}

TEST_F(WorkerThreadTest, TicksOnceForEachSecondOfTheInjectedClock) {
  WorkerThread thread("test", clock_, [this] { ++ticks_; });
  for (const int expected : {1, 2}) {
    clock_.advance(WorkerThread::kTick);
    ASSERT_TRUE(fakes::eventually([&] { return ticks_ == expected; }));
    wait_for_jobs(thread);  // it has set its next tick
  }
}

TEST_F(WorkerThreadTest, DoesNotTickBeforeASecondOfTheInjectedClockHasPassed) {
  WorkerThread thread("test", clock_, [this] { ++ticks_; });
  wait_for_jobs(thread);
  clock_.advance(WorkerThread::kTick - std::chrono::nanoseconds(1));
  for (int job = 0; job < 2; ++job) wait_for_jobs(thread);  // after the first it looks at the clock
  EXPECT_EQ(ticks_, 0);
  clock_.advance(std::chrono::nanoseconds(1));
  EXPECT_TRUE(fakes::eventually([&] { return ticks_ == 1; })) << "the control";
}

TEST_F(WorkerThreadTest, TicksBetweenJobsHoweverManyThereAre) {
  WorkerThread thread("test", clock_, [this] { ++ticks_; });
  wait_for_jobs(thread);
  std::atomic<bool> is_ending{false};
  std::function<void()> job = [&] {
    if (!is_ending) thread.post(job);
  };
  thread.post(job);
  clock_.advance(WorkerThread::kTick);
  EXPECT_TRUE(fakes::eventually([&] { return ticks_ == 1; }));
  is_ending = true;
  thread.finish();
}

}  // namespace
}  // namespace s3rdmafs
