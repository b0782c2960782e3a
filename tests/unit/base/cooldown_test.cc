// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/cooldown.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs {
namespace {

using namespace std::chrono_literals;

class CooldownTest : public ::testing::Test {
 protected:
  fakes::FakeClock clock_;
  Cooldown cooldown_{clock_};
};

TEST_F(CooldownTest, IsOverBeforeItIsStarted) {
  EXPECT_TRUE(cooldown_.is_over());
  EXPECT_LE(cooldown_.ends_at(), clock_.now());
}

TEST_F(CooldownTest, IsOverWhenItsPauseIs) {
  cooldown_.start(10ms);
  EXPECT_EQ(cooldown_.ends_at(), clock_.now() + 10ms);
  clock_.advance(9ms);
  EXPECT_FALSE(cooldown_.is_over());
  clock_.advance(1ms);
  EXPECT_TRUE(cooldown_.is_over());
}

TEST_F(CooldownTest, TakesTheLaterPauseInPlaceOfTheFirst) {
  cooldown_.start(1h);
  cooldown_.start(10ms);
  clock_.advance(10ms);
  EXPECT_TRUE(cooldown_.is_over());
}

TEST_F(CooldownTest, LetsOneCallerTryAfterEachPause) {
  EXPECT_TRUE(cooldown_.try_again(10ms));
  EXPECT_FALSE(cooldown_.try_again(10ms));
  clock_.advance(10ms);
  EXPECT_TRUE(cooldown_.try_again(20ms));
  clock_.advance(19ms);
  EXPECT_FALSE(cooldown_.try_again(20ms)) << "the next pause is the one that was asked for";
  clock_.advance(1ms);
  EXPECT_TRUE(cooldown_.try_again(20ms));
}

TEST_F(CooldownTest, LetsOneOfManyThreadsTry) {
  std::atomic<int> tries{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] { tries += cooldown_.try_again(1h) ? 1 : 0; });
    }
  }
  EXPECT_EQ(tries, 1);
}

}  // namespace
}  // namespace s3rdmafs
