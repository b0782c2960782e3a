// SPDX-License-Identifier: Apache-2.0
#include "cache/whole/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/tmpfs_file.h"

namespace s3rdmafs::cache {
namespace {

using fakes::FakeObjectStore;
using Object = std::shared_ptr<const ResidentObject>;

constexpr std::uint64_t kSize = 3 * kMiB;  // a file of 4 MiB

class ObjectCacheTest : public testing::Test {
 protected:
  // Room for `files` objects of kSize.
  void start(std::size_t files, std::uint64_t spare_bytes = 0) {
    cache_ = std::make_unique<ObjectCache>(
        [this] { return make_file(); }, store_, fabric_, clock_, metrics_,
        ObjectCache::Options{.limits = {.bytes_max = files * 4 * kMiB, .files_max = 100},
                             .object_bytes_min = kMiB,
                             .object_bytes_max = 8 * kMiB,
                             .spare_bytes_max = spare_bytes,
                             .lock = memory::MemoryLock::kOff});
  }

  // Room for two files: that of "a", and a spare. Neither is made until let_files_be_made().
  std::future<Result<Object>> open_beside_a_spare() {
    start(2, 4 * kMiB);
    files_wait_ = true;
    auto opened = open_later(put("a"));
    EXPECT_TRUE(eventually([&] { return files_begun_ == 2; }));
    return opened;
  }
  void let_files_be_made() {
    files_wait_ = false;
    files_wait_.notify_all();
  }

  void TearDown() override {
    let_files_be_made();
    store_.release_all();
    store_.shut_down();
    if (cache_) cache_->shut_down();
  }

  Result<UniqueFd> make_file() {
    ++files_begun_;
    files_wait_.wait(true);
    if (no_files_) return fail(ErrorCode::kSystem, "the test says no");
    return fakes::make_tmpfs_file();
  }

  ObjectVersion put(const std::string& key, std::uint64_t size = kSize) {
    return {
        .key = key, .etag = store_.put(key, std::string(size, key.front())), .size_bytes = size};
  }

  std::future<Result<Object>> open_later(ObjectVersion version) {
    auto promise = std::make_shared<std::promise<Result<Object>>>();
    auto future = promise->get_future();
    cache_->open(std::move(version), clock_.now() + std::chrono::seconds(30),
                 [promise](Result<Object> object) { promise->set_value(std::move(object)); });
    return future;
  }
  Result<Object> open(ObjectVersion version) { return open_later(std::move(version)).get(); }

  using Kept = ObjectCache::Kept;
  std::future<Result<Kept>> keep_later(ObjectVersion version,
                                       std::function<bool(std::uint64_t)> on_part = {}) {
    auto promise = std::make_shared<std::promise<Result<Kept>>>();
    auto future = promise->get_future();
    cache_->keep(std::move(version),
                 {.part_timeout = std::chrono::seconds(30), .on_part = std::move(on_part)},
                 [promise](Result<Kept> kept) { promise->set_value(std::move(kept)); });
    return future;
  }
  Result<Kept> keep(ObjectVersion version) { return keep_later(std::move(version)).get(); }

  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }

  static std::string content(const Object& object) {
    struct stat status{};
    ::fstat(object->fd(), &status);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    EXPECT_EQ(::pread(object->fd(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    return text;
  }

  std::size_t gets() const { return store_.count(FakeObjectStore::Operation::kGet); }
  std::uint64_t declined(std::string_view reason) {
    return metrics_
        .counter("passthrough_declined_total", "", "reason=\"" + std::string(reason) + "\"")
        .value();
  }

  // What happens on the cache's thread is given plenty of time.
  static bool eventually(const std::function<bool()>& condition) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeFabric fabric_;
  FakeObjectStore store_{clock_};
  std::atomic<bool> no_files_{false};
  std::atomic<bool> files_wait_{false};
  std::atomic<int> files_begun_{0};
  std::unique_ptr<ObjectCache> cache_;
};

TEST_F(ObjectCacheTest, AnObjectIsInAFileExactlyAsLong) {
  start(1);
  const auto object = open(put("a", kSize + 5));
  ASSERT_TRUE(object);
  EXPECT_EQ(content(*object), std::string(kSize + 5, 'a'));
}

TEST_F(ObjectCacheTest, WhatIsResidentIsNotFetchedAgain) {
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

TEST_F(ObjectCacheTest, AllWhoOpenAtOnceShareOneFetchAndWaitForItsEnd) {
  start(2);
  const auto version = put("a");
  store_.hold();
  auto first = open_later(version);
  auto second = open_later(version);
  ASSERT_TRUE(eventually([&] { return store_.held().size() == 1; }));
  EXPECT_NE(first.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  store_.release_all();
  const auto one = first.get();
  const auto two = second.get();
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->fd(), (*two)->fd());
  EXPECT_EQ(gets(), 1U);
}

TEST_F(ObjectCacheTest, SizesOutsideTheBoundsAreNotForIt) {
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

TEST_F(ObjectCacheTest, WhatIsOpenIsNotEvicted) {
  start(1);
  const auto open_one = open(put("a"));
  const auto other = open(put("b"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(declined("no_room"), 1U);
  EXPECT_EQ(content(*open_one), std::string(kSize, 'a'));
}

TEST_F(ObjectCacheTest, WhatAProgramStillHasIsNotEvicted) {
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

TEST_F(ObjectCacheTest, AFetchThatFailsFailsAllWhoWaitAndLeavesTheFileToOthers) {
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

TEST_F(ObjectCacheTest, AfterAPossibleLateWriteTheFileRestsUntilItsRegionIsRenewed) {
  start(1);
  const auto version = put("a");
  fabric_.let_fences_fail(true);
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut, true);
  ASSERT_FALSE(open(version));
  EXPECT_FALSE(open(version)) << "there is no other file in the budget";
  EXPECT_EQ(declined("no_room"), 1U);
  fabric_.let_fences_fail(false);
  clock_.advance(WorkerThread::kTick);
  EXPECT_TRUE(eventually([&] { return open(version).has_value(); }));
  EXPECT_EQ(fabric_.fences(), 1);
}

TEST_F(ObjectCacheTest, WhereNoFileCanBeMadeTheBudgetIsAsItWas) {
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

TEST_F(ObjectCacheTest, WhatIsKeptIsNotEvictedByOpens) {
  start(1);
  const auto a = put("a");
  EXPECT_EQ(keep(a).value(), Kept::kFetched);
  EXPECT_EQ(keep(a).value(), Kept::kWasThere);
  const auto other = open(put("b"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(content(*open(a)), std::string(kSize, 'a'));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(gauge("cache_object_kept_bytes"), static_cast<std::int64_t>(kSize));
}

TEST_F(ObjectCacheTest, WhatWasLetGoIsEvictedAsOthersAre) {
  start(1);
  const auto a = put("a");
  ASSERT_TRUE(keep(a));
  EXPECT_EQ(cache_->let_go([](std::string_view key) { return key == "b"; }).objects, 0U);
  const auto gone = cache_->let_go([](std::string_view key) { return key == "a"; });
  EXPECT_EQ(gone.objects, 1U);
  EXPECT_EQ(gone.bytes, kSize);
  EXPECT_EQ(gauge("cache_object_kept"), 0);
  EXPECT_TRUE(open(a)) << "it is still resident";
  EXPECT_EQ(gets(), 1U);
  EXPECT_TRUE(open(put("b")));
}

TEST_F(ObjectCacheTest, AnObjectOfAnySizeCanBeKeptAndIsThenOpened) {
  start(5);  // 20 MiB
  for (const std::uint64_t size : {std::uint64_t{1}, 9 * kMiB}) {
    const auto version = put(size == 1 ? "small" : "large", size);
    EXPECT_EQ(open(version).error().code, ErrorCode::kUnsupported) << "the control";
    ASSERT_TRUE(keep(version)) << size;
    const auto object = open(version);
    ASSERT_TRUE(object) << size;
    EXPECT_EQ(content(*object).size(), size);
  }
  EXPECT_EQ(keep(put("empty", 0)).error().code, ErrorCode::kUnsupported);
}

TEST_F(ObjectCacheTest, WhatDoesNotFitSaysWhatToRaiseAndEvictsNothing) {
  start(1);
  const auto a = put("a");
  ASSERT_TRUE(open(a));
  const auto no = keep(put("b", 9 * kMiB));
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(no.error().detail.find("cache.resident_size"), std::string::npos);
  EXPECT_NE(no.error().detail.find("10MiB"), std::string::npos) << no.error().detail;
  EXPECT_TRUE(open(a));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(declined("no_room"), 0U) << "no open was declined";
}

TEST_F(ObjectCacheTest, KeepingMakesRoomAsAnOpenDoes) {
  start(1);
  ASSERT_TRUE(open(put("a")));
  EXPECT_EQ(keep(put("b")).value(), Kept::kFetched);
}

TEST_F(ObjectCacheTest, OnlyTheNewestVersionOfAKeyIsKept) {
  start(1);
  ASSERT_TRUE(keep(put("a")));
  EXPECT_FALSE(open(put("b"))) << "the control";
  ASSERT_TRUE(keep(put("a", kSize + 1)));
  EXPECT_EQ(gauge("cache_object_kept"), 1);
  EXPECT_EQ(gauge("cache_object_kept_bytes"), static_cast<std::int64_t>(kSize + 1));
}

// Keeping asks for time anew with each part; an open has its own only.
TEST_F(ObjectCacheTest, AnOpenDoesNotWaitForAnObjectThatIsBeingKept) {
  start(8);
  for (const std::uint64_t size : {kMiB, 9 * kMiB}) {
    const auto object = put("of " + std::to_string(size), size);
    store_.hold();
    auto keeping = keep_later(object);
    ASSERT_TRUE(eventually([&] { return !store_.held().empty(); }));
    EXPECT_EQ(open(object).error().code, ErrorCode::kBusy);
    store_.release_all();
    EXPECT_TRUE(keeping.get());
    EXPECT_TRUE(open(object));
  }
  EXPECT_EQ(declined("being_fetched"), 2U);
}

TEST_F(ObjectCacheTest, KeepingJoinsTheFetchOfAnOpen) {
  start(1);
  const auto a = put("a");
  store_.hold();
  auto opening = open_later(a);
  auto keeping = keep_later(a);
  ASSERT_TRUE(eventually([&] { return store_.held().size() == 1; }));
  store_.release_all();
  EXPECT_TRUE(opening.get());
  EXPECT_EQ(keeping.get().value(), Kept::kFetched);
  EXPECT_FALSE(open(put("b"))) << "it is kept";
}

TEST_F(ObjectCacheTest, KeepingTellsOfEachPartAndEndsWhenNobodyWaits) {
  start(8);
  std::atomic<std::uint64_t> bytes{0};
  const auto count = [&](std::uint64_t more) {
    bytes += more;
    return true;
  };
  ASSERT_TRUE(keep_later(put("a", 12 * kMiB), count).get());
  EXPECT_EQ(bytes, 12 * kMiB);
  const auto given_up = keep_later(put("b", 12 * kMiB), [](std::uint64_t) { return false; }).get();
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(gauge("cache_object_kept"), 1);
}

TEST_F(ObjectCacheTest, AFetchThatFailsKeepsNothing) {
  start(1);
  const auto a = put("a");
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  EXPECT_EQ(keep(a).error().code, ErrorCode::kServerError);
  EXPECT_TRUE(open(put("b")));
  EXPECT_EQ(gauge("cache_object_kept"), 0);
}

TEST_F(ObjectCacheTest, FilesAreMadeAheadOfTheOpensThatNeedThem) {
  start(8, 8 * kMiB);  // two spares
  ASSERT_TRUE(open(put("a")));
  ASSERT_TRUE(eventually([&] { return gauge("cache_object_files") == 3; }));
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
  ASSERT_TRUE(eventually([&] { return gauge("cache_object_files") == 3; }));
  ASSERT_TRUE(open(put("b", 8 * kMiB)));
  EXPECT_LE(gauge("cache_object_bytes"), static_cast<std::int64_t>(12 * kMiB));
}

TEST_F(ObjectCacheTest, ASpareInTheMakingTurnsNobodyAway) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  auto c = keep_later(put("c"));
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

TEST_F(ObjectCacheTest, ASpareThatCouldNotBeMadeTurnsNobodyAwayEither) {
  auto a = open_beside_a_spare();
  no_files_ = true;
  auto b = keep_later(put("b"));
  let_files_be_made();
  EXPECT_FALSE(a.get());
  const auto kept = b.get();
  EXPECT_EQ(kept.error().code, ErrorCode::kSystem) << "there was room, and no file";
}

TEST_F(ObjectCacheTest, WhoWaitsForASpareTooLongIsOpenedWithoutOne) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  clock_.advance(std::chrono::seconds(31));
  let_files_be_made();
  EXPECT_EQ(b.get().error().code, ErrorCode::kTimedOut);
  EXPECT_EQ(declined("no_room"), 1);
  EXPECT_TRUE(open(put("c"))) << "the control: there is room";
}

TEST_F(ObjectCacheTest, WhoWaitsForASpareIsAnsweredWhenItEnds) {
  auto a = open_beside_a_spare();
  auto b = open_later(put("b"));
  store_.shut_down();
  std::thread ending([&] { cache_->shut_down(); });
  const ObjectVersion other = put("other", 5 * kMiB);  // which the spare's room is too small for
  EXPECT_TRUE(eventually([&] { return open(other).error().code == ErrorCode::kCancelled; }));
  let_files_be_made();
  ending.join();
  EXPECT_EQ(b.get().error().code, ErrorCode::kCancelled);
}

TEST_F(ObjectCacheTest, WhoIsKeepingIsAnsweredWhenItEnds) {
  start(3);
  store_.hold();
  auto large = keep_later(put("a", 9 * kMiB));
  ASSERT_TRUE(eventually([&] { return store_.held().size() == 2; }));
  store_.shut_down();
  cache_->shut_down();
  EXPECT_FALSE(large.get());
  EXPECT_EQ(keep(put("b")).error().code, ErrorCode::kCancelled);
}

TEST_F(ObjectCacheTest, OpensThatWaitAreAnsweredWhenItEnds) {
  start(1);
  store_.hold();
  auto waiting = open_later(put("a"));
  ASSERT_TRUE(eventually([&] { return store_.held().size() == 1; }));
  store_.shut_down();
  cache_->shut_down();
  EXPECT_FALSE(waiting.get());
  EXPECT_FALSE(open(put("b")));
}

}  // namespace
}  // namespace s3rdmafs::cache
