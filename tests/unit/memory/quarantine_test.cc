// SPDX-License-Identifier: Apache-2.0
#include "memory/quarantine.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"

namespace s3rdmafs::memory {
namespace {

class QuarantineTest : public testing::Test {
 protected:
  std::unique_ptr<rdma::MemoryRegion> region() {
    return fabric_.register_memory({.bytes = bytes_}, rdma::Access::kRemoteWrite).value();
  }
  void add(rdma::MemoryRegion& region) {
    quarantine_.add(region, [this] { ++fenced_; });
  }
  // Returns when the thread has done everything that it was given before.
  void wait_for_thread() {
    std::promise<void> done;
    auto is_done = done.get_future();
    ASSERT_TRUE(thread_.post([&done] { done.set_value(); }));
    is_done.wait();
  }
  // Returns after one more tick: the job runs after it, the next one after the clock was looked at.
  void tick() {
    const int before = ticks_;
    clock_.advance(WorkerThread::kTick);
    ASSERT_TRUE(fakes::eventually([&] { return ticks_ > before; }));
    wait_for_thread();
  }

  std::array<std::byte, 16> bytes_{};
  fakes::FakeClock clock_;
  fakes::FakeFabric fabric_;
  std::atomic<int> fenced_{0};
  std::atomic<int> ticks_{0};
  Quarantine quarantine_{thread_};
  WorkerThread thread_{"test-fence", clock_, [this] {
                         quarantine_.retry();
                         ++ticks_;
                       }};
};

TEST_F(QuarantineTest, FencesWithoutWaitingForATick) {
  const auto memory = region();
  add(*memory);
  wait_for_thread();
  EXPECT_EQ(fabric_.fences(), 1);
  EXPECT_EQ(fenced_, 1);
  tick();
  EXPECT_EQ(fabric_.fences(), 1) << "once is enough";
}

TEST_F(QuarantineTest, KeepsMemoryWhoseFenceFailsAndTriesAgainAtEachTick) {
  const auto memory = region();
  fabric_.let_fences_fail(true);
  add(*memory);
  for (int round = 0; round < 3; ++round) tick();
  EXPECT_EQ(fenced_, 0);
  fabric_.let_fences_fail(false);
  wait_for_thread();
  EXPECT_EQ(fenced_, 0) << "not before the next tick";
  tick();
  EXPECT_EQ(fenced_, 1);
}

TEST_F(QuarantineTest, FencesAllThatWaitsOnceFencesWork) {
  const std::array memory = {region(), region(), region()};
  fabric_.let_fences_fail(true);
  for (const auto& one : memory) add(*one);
  tick();
  ASSERT_EQ(fenced_, 0);
  fabric_.let_fences_fail(false);
  tick();
  EXPECT_EQ(fenced_, 3);
}

TEST_F(QuarantineTest, DoesNotCallBackBeforeTheServerHasAnsweredTheFence) {
  const auto memory = region();
  fabric_.hold_fences(true);
  add(*memory);
  EXPECT_EQ(fenced_, 0);
  fabric_.hold_fences(false);
  wait_for_thread();
  EXPECT_EQ(fenced_, 1) << "the control";
}

TEST_F(QuarantineTest, CallsNoFenceOnceItsThreadFinishes) {
  const auto memory = region();
  std::promise<void> finishing;
  thread_.post([&] {
    finishing.get_future().wait();
    add(*memory);
  });
  auto finished = std::async(std::launch::async, [this] { thread_.finish(); });
  ASSERT_TRUE(fakes::eventually([this] { return thread_.is_finishing(); }));
  finishing.set_value();
  finished.wait();
  EXPECT_EQ(fabric_.fences(), 0);
  EXPECT_EQ(fenced_, 0);
}

}  // namespace
}  // namespace s3rdmafs::memory
