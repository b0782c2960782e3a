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

TEST_F(ObjectCacheTest, APartOfALargeObjectIsInAFileOfItsOwn) {
  start(2);
  const ObjectVersion large = put_numbered("a", 20 * kMiB);
  const auto middle =
      open_part({.version = large, .offset_bytes = 8 * kMiB, .length_bytes = kSize});
  const auto last =
      open_part({.version = large, .offset_bytes = 17 * kMiB, .length_bytes = 3 * kMiB});
  ASSERT_TRUE(middle && last);
  EXPECT_EQ(content(*middle), store_content("a").substr(8 * kMiB, kSize));
  EXPECT_EQ(content(*last), store_content("a").substr(17 * kMiB));
  EXPECT_FALSE(cache_->has_whole(large));
}

TEST_F(ObjectCacheTest, APartIsNotTakenForAnotherOrForTheWhole) {
  start(3);
  const ObjectVersion version = put_numbered("a", kSize);
  ASSERT_TRUE(open_part({.version = version, .offset_bytes = 0, .length_bytes = kMiB}));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(content(*open_part({.version = version, .offset_bytes = kMiB, .length_bytes = kMiB})),
            store_content("a").substr(kMiB, kMiB));
  EXPECT_EQ(content(*open(version)), store_content("a"));
  EXPECT_TRUE(cache_->has_whole(version));
  EXPECT_EQ(gets(), 3U);
  ASSERT_TRUE(open_part({.version = version, .offset_bytes = 0, .length_bytes = kSize}));
  EXPECT_EQ(gets(), 3U) << "the whole object is a part as well";
}

TEST_F(ObjectCacheTest, APartThatIsFetchedAheadIsThereForTheProgramThatFollows) {
  start(2);
  const ObjectVersion large = put_numbered("a", 20 * kMiB);
  const ObjectPart part{.version = large, .offset_bytes = 4 * kMiB, .length_bytes = 4 * kMiB};
  EXPECT_TRUE(cache_->prefetch_part(part, clock_.now() + std::chrono::seconds(30)));
  EXPECT_EQ(content(*open_part(part)), store_content("a").substr(4 * kMiB, 4 * kMiB));
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

TEST_F(ObjectCacheTest, AnObjectThatIsFetchedAheadIsThereForTheOpenThatFollows) {
  start(2);
  const ObjectVersion next = put("a");
  store_.hold();
  EXPECT_TRUE(cache_->prefetch(next, clock_.now() + std::chrono::seconds(30)));
  EXPECT_TRUE(cache_->prefetch(next, clock_.now() + std::chrono::seconds(30))) << "once";
  auto opened = open_later(next);
  store_.release_all();
  ASSERT_TRUE(opened.get());
  const std::size_t fetched = gets();
  EXPECT_TRUE(open(next));
  EXPECT_EQ(gets(), fetched);
  EXPECT_EQ(metrics_.counter("cache_object_prefetches_total", "").value(), 1U);
}

TEST_F(ObjectCacheTest, FetchesAheadOnlyWhatAnOpenWouldAndWhereThereIsRoom) {
  start(1);
  const auto deadline = clock_.now() + std::chrono::seconds(30);
  EXPECT_FALSE(cache_->prefetch(put("small", kMiB - 1), deadline));
  EXPECT_FALSE(cache_->prefetch(put("large", 8 * kMiB + 1), deadline));
  const auto open_now = open(put("a"));
  ASSERT_TRUE(open_now);
  EXPECT_FALSE(cache_->prefetch(put("b"), deadline)) << "what is open takes all the room";
}

TEST_F(ObjectCacheTest, AnObjectAheadThatFailsLeavesItsRoomToOthers) {
  start(1);
  EXPECT_TRUE(cache_->prefetch({.key = "gone", .etag = "\"1\"", .size_bytes = kSize},
                               clock_.now() + std::chrono::seconds(30)));
  EXPECT_TRUE(fakes::eventually([&] { return open(put("a")).has_value(); }));
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
