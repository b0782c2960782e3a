// SPDX-License-Identifier: Apache-2.0
// Files that are made ahead of the opens that need them.
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "object_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(ObjectCacheTest, FilesAreMadeAheadOfTheOpensThatNeedThem) {
  start(8, 8 * kMiB);  // two spares
  ASSERT_TRUE(open(put("a")));
  ASSERT_TRUE(fakes::eventually([&] { return gauge("cache_object_files") == 3; }));
  no_files_ = true;
  const auto b = open(put("b"));
  ASSERT_TRUE(b) << "it takes a spare one";
  EXPECT_EQ(content(*b), std::string(kSize, 'b'));
  EXPECT_TRUE(open(put("c")));
  EXPECT_FALSE(open(put("d"))) << "the control";
}

TEST_F(ObjectCacheTest, SparesStayWithinTheBudgetAndMakeRoomForAll) {
  start(3, 100 * kMiB);  // 12 MiB
  ASSERT_TRUE(open(put("a")));
  ASSERT_TRUE(fakes::eventually([&] { return gauge("cache_object_files") == 3; }));
  ASSERT_TRUE(open(put("b", 8 * kMiB)));
  EXPECT_LE(gauge("cache_object_bytes"), static_cast<std::int64_t>(12 * kMiB));
}

TEST_F(ObjectCacheTest, ASpareInTheMakingDeclinesNoRequest) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  auto c = pin_later(put("c"));
  EXPECT_EQ(b.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  let_files_be_made();
  const auto opened_a = a.get();
  ASSERT_TRUE(opened_a);
  const auto opened_b = b.get();
  ASSERT_TRUE(opened_b);
  EXPECT_EQ(content(*opened_b), std::string(kSize, 'b'));
  EXPECT_EQ(c.get().error().code, ErrorCode::kNoMemory) << "the control: two are all there is";
  EXPECT_EQ(declined("no_room"), 0);
}

TEST_F(ObjectCacheTest, ASpareThatCouldNotBeMadeDeclinesNoRequest) {
  auto a = open_beside_a_spare();
  no_files_ = true;
  auto b = pin_later(put("b"));
  let_files_be_made();
  EXPECT_FALSE(a.get());
  const auto pinned = b.get();
  EXPECT_EQ(pinned.error().code, ErrorCode::kSystem) << "there was room, and no file";
}

TEST_F(ObjectCacheTest, AnOpenDoesNotWaitForASparePastItsDeadline) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  clock_.advance(std::chrono::seconds(31));
  let_files_be_made();
  EXPECT_EQ(b.get().error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(declined("no_room"), 1);
  EXPECT_TRUE(open(put("c"))) << "the control: there is room";
}

TEST_F(ObjectCacheTest, AnOpenThatWaitsForASpareIsAnsweredAtShutdown) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  store_.shut_down();
  std::thread ending([&] { cache_->shut_down(); });
  const ObjectVersion other = put("other", 5 * kMiB);  // which the spare's room is too small for
  EXPECT_TRUE(fakes::eventually([&] { return open(other).error().code == ErrorCode::kCancelled; }));
  let_files_be_made();
  ending.join();
  EXPECT_EQ(b.get().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::cache
