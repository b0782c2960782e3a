// SPDX-License-Identifier: Apache-2.0
#include "csi/node/keyed_locks.h"

#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::csi {
namespace {

using std::chrono::seconds;

TEST(KeyedLocks, HoldOneNameAndLeaveOthersFree) {
  const fakes::FakeClock clock;
  KeyedLocks locks;
  const auto held = locks.take("volume a", clock, clock.now());
  ASSERT_TRUE(held);
  EXPECT_TRUE(locks.take("volume b", clock, clock.now()));
  const auto second = locks.take("volume a", clock, clock.now());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

TEST(KeyedLocks, GiveANameBackAtTheEndOfItsLease) {
  const fakes::FakeClock clock;
  KeyedLocks locks;
  {
    ASSERT_TRUE(locks.take("volume a", clock, clock.now()));
  }
  EXPECT_TRUE(locks.take("volume a", clock, clock.now()));
}

TEST(KeyedLocks, WaitForTheHolderUntilTheDeadline) {
  const fakes::FakeClock clock;
  KeyedLocks locks;
  std::optional<Result<KeyedLocks::Lease>> held = locks.take("mount a", clock, clock.now());
  bool was_given = false;
  std::thread waiter(
      [&] { was_given = locks.take("mount a", clock, clock.now() + seconds(60)).has_value(); });
  while (clock.waits() == 0) std::this_thread::yield();
  held.reset();
  waiter.join();
  EXPECT_TRUE(was_given);
}

}  // namespace
}  // namespace s3rdmafs::csi
