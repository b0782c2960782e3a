// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "object_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(ObjectCacheTest, AnObjectIsInAFileExactlyAsLong) {
  start(1);
  const auto object = open(put("a", kSize + 5));
  ASSERT_TRUE(object);
  EXPECT_EQ(content(*object), std::string(kSize + 5, 'a'));
}

TEST_F(ObjectCacheTest, AResidentObjectIsNotFetchedAgain) {
  start(2);
  const auto version = put("a");
  {
    ASSERT_TRUE(open(version));
  }
  const auto again = open(version);
  ASSERT_TRUE(again);
  EXPECT_EQ(content(*again), std::string(kSize, 'a'));
  EXPECT_EQ(gets(), 1U);
}

TEST_F(ObjectCacheTest, OpensAtTheSameTimeShareOneFetchAndWaitForItsEnd) {
  const auto version = start_with_an_object_held_back(2);
  auto first = open_later(version);
  auto second = open_later(version);
  ASSERT_TRUE(fakes::eventually([&] { return store_.held().size() == 1; }));
  EXPECT_NE(first.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  store_.release_all();
  const auto one = first.get();
  const auto two = second.get();
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->fd(), (*two)->fd());
  EXPECT_EQ(gets(), 1U);
}

TEST_F(ObjectCacheTest, SizesOutsideTheBoundsAreUnsupported) {
  start(4);
  for (const std::uint64_t size : {kMiB - 1, 8 * kMiB + 1}) {
    const auto object = open(put("a", size));
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(open(put("a", kMiB)));
  EXPECT_TRUE(open(put("a", 8 * kMiB)));
}

TEST_F(ObjectCacheTest, TheLeastRecentlyOpenedMakesRoom) {
  start(2);
  const auto a = put("a");
  const auto b = put("b");
  for (const auto& version : {a, b, a, put("c"), a}) ASSERT_TRUE(open(version));
  EXPECT_EQ(gets(), 3U) << "a was opened after b, so b went";
  EXPECT_EQ(files_begun_, 2) << "its file was used again";
}

TEST_F(ObjectCacheTest, AnOpenObjectIsNotEvicted) {
  start(1);
  const auto open_one = open(put("a"));
  const auto other = open(put("b"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(declined("no_room"), 1U);
  EXPECT_EQ(content(*open_one), std::string(kSize, 'a'));
}

TEST_F(ObjectCacheTest, AFileThatAProgramStillHasIsNotEvicted) {
  start(1);
  UniqueFd reader;
  {
    const auto object = open(put("a"));
    reader = fakes::open_again((*object)->fd());
  }
  EXPECT_FALSE(open(put("b")));
  std::string text(kSize, '\0');
  EXPECT_EQ(::pread(reader.get(), text.data(), kSize, 0), static_cast<ssize_t>(kSize));
  EXPECT_EQ(text, std::string(kSize, 'a'));
  reader.reset();
  EXPECT_TRUE(open(put("b")));
}

TEST_F(ObjectCacheTest, FilesOfOtherSizesAreClosedToMakeRoom) {
  start(2);  // 8 MiB
  for (const char* key : {"a", "b"}) ASSERT_TRUE(open(put(key)));
  ASSERT_TRUE(open(put("c", 8 * kMiB)));
  EXPECT_EQ(metrics_.gauge("cache_object_bytes", "").value(), static_cast<std::int64_t>(8 * kMiB));
  EXPECT_EQ(metrics_.gauge("cache_object_files", "").value(), 1);
}

TEST_F(ObjectCacheTest, AFailedFetchFailsEveryOpenThatWaitsAndFreesTheFile) {
  start(1);
  const auto version = put("a");
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  const auto failed = open(version);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kServerError);
  EXPECT_EQ(declined("fetch_failed"), 1U);
  EXPECT_TRUE(open(version)) << "nothing of it is remembered";
  EXPECT_EQ(files_begun_, 1);
}

TEST_F(ObjectCacheTest, AfterAPossibleLateWriteTheFileIsNotUsedBeforeItsRegionIsFenced) {
  start(1);
  const auto version = put("a");
  fabric_.let_fences_fail(true);
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut, true);
  ASSERT_FALSE(open(version));
  EXPECT_FALSE(open(version)) << "there is no other file in the budget";
  EXPECT_EQ(declined("no_room"), 1U);
  fabric_.let_fences_fail(false);
  clock_.advance(WorkerThread::kTick);
  EXPECT_TRUE(fakes::eventually([&] { return open(version).has_value(); }));
  EXPECT_EQ(fabric_.fences(), 1);
}

TEST_F(ObjectCacheTest, AFileThatCannotBeMadeLeavesTheBudgetAsItWas) {
  start(1);
  no_files_ = true;
  ASSERT_FALSE(open(put("a")));
  EXPECT_EQ(declined("no_file"), 1U);
  EXPECT_EQ(metrics_.gauge("cache_object_bytes", "").value(), 0);
  no_files_ = false;
  EXPECT_TRUE(open(put("a")));
}

TEST_F(ObjectCacheTest, AnotherVersionIsAnotherObject) {
  start(2);
  const auto old_version = put("a");
  const auto old_object = open(old_version);
  const auto new_version = put("a", kSize + 1);
  const auto new_object = open(new_version);
  EXPECT_EQ(content(*old_object).size(), kSize);
  EXPECT_EQ(content(*new_object).size(), kSize + 1);
}

TEST_F(ObjectCacheTest, OpensThatWaitAreAnsweredAtShutdown) {
  auto waiting = open_later(start_with_an_object_held_back(1));
  ASSERT_TRUE(fakes::eventually([&] { return store_.held().size() == 1; }));
  store_.shut_down();
  cache_->shut_down();
  EXPECT_FALSE(waiting.get());
  EXPECT_FALSE(open(put("b")));
}

}  // namespace
}  // namespace s3rdmafs::cache
