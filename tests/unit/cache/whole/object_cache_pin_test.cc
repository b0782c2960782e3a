// SPDX-License-Identifier: Apache-2.0
// Objects that are made resident ahead of time and stay.
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "object_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

TEST_F(ObjectCacheTest, OpensDoNotEvictAPinnedObject) {
  start(1);
  const auto a = put("a");
  EXPECT_EQ(pin(a).value(), Pinned::kFetched);
  EXPECT_EQ(pin(a).value(), Pinned::kWasResident);
  const auto other = open(put("b"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(content(*open(a)), std::string(kSize, 'a'));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(gauge("cache_object_kept_bytes"), static_cast<std::int64_t>(kSize));
}

TEST_F(ObjectCacheTest, AnUnpinnedObjectIsEvictedAsOthersAre) {
  start(1);
  const auto a = put("a");
  ASSERT_TRUE(pin(a));
  EXPECT_EQ(cache_->unpin([](std::string_view key) { return key == "b"; }).objects, 0U);
  const auto gone = cache_->unpin([](std::string_view key) { return key == "a"; });
  EXPECT_EQ(gone.objects, 1U);
  EXPECT_EQ(gone.bytes, kSize);
  EXPECT_EQ(gauge("cache_object_kept"), 0);
  EXPECT_TRUE(open(a)) << "it is still resident";
  EXPECT_EQ(gets(), 1U);
  EXPECT_TRUE(open(put("b")));
}

TEST_F(ObjectCacheTest, AnObjectOfAnySizeCanBePinnedAndIsThenOpened) {
  start(5);  // 20 MiB
  for (const std::uint64_t size : {std::uint64_t{1}, 9 * kMiB}) {
    const auto version = put(size == 1 ? "small" : "large", size);
    EXPECT_EQ(open(version).error().code, ErrorCode::kUnsupported) << "the control";
    ASSERT_TRUE(pin(version)) << size;
    const auto object = open(version);
    ASSERT_TRUE(object) << size;
    EXPECT_EQ(content(*object).size(), size);
  }
  EXPECT_EQ(pin(put("empty", 0)).error().code, ErrorCode::kUnsupported);
}

TEST_F(ObjectCacheTest, APinThatDoesNotFitSaysWhatToRaiseAndEvictsNothing) {
  start(1);
  const auto a = put("a");
  ASSERT_TRUE(open(a));
  const auto no = pin(put("b", 9 * kMiB));
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(no.error().detail.find("cache.resident_size"), std::string::npos);
  EXPECT_NE(no.error().detail.find("10MiB"), std::string::npos) << no.error().detail;
  EXPECT_TRUE(open(a));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(declined("no_room"), 0U) << "no open was declined";
}

TEST_F(ObjectCacheTest, APinMakesRoomAsAnOpenDoes) {
  start(1);
  ASSERT_TRUE(open(put("a")));
  EXPECT_EQ(pin(put("b")).value(), Pinned::kFetched);
}

TEST_F(ObjectCacheTest, OnlyTheNewestVersionOfAKeyIsPinned) {
  start(1);
  ASSERT_TRUE(pin(put("a")));
  EXPECT_FALSE(open(put("b"))) << "the control";
  ASSERT_TRUE(pin(put("a", kSize + 1)));
  EXPECT_EQ(gauge("cache_object_kept"), 1);
  EXPECT_EQ(gauge("cache_object_kept_bytes"), static_cast<std::int64_t>(kSize + 1));
}

// A pin has a time-out for each part; an open has one deadline for the whole object.
TEST_F(ObjectCacheTest, AnOpenDoesNotWaitForTheFetchOfAPin) {
  start(8);
  for (const std::uint64_t size : {kMiB, 9 * kMiB}) {
    const auto object = put("of " + std::to_string(size), size);
    store_.hold();
    auto pinning = pin_later(object);
    ASSERT_TRUE(fakes::eventually([&] { return !store_.held().empty(); }));
    EXPECT_EQ(open(object).error().code, ErrorCode::kBusy);
    store_.release_all();
    EXPECT_TRUE(pinning.get());
    EXPECT_TRUE(open(object));
  }
  EXPECT_EQ(declined("being_fetched"), 2U);
}

TEST_F(ObjectCacheTest, APinJoinsTheFetchOfAnOpen) {
  const auto a = start_with_an_object_held_back(1);
  auto opening = open_later(a);
  auto pinning = pin_later(a);
  ASSERT_TRUE(fakes::eventually([&] { return store_.held().size() == 1; }));
  store_.release_all();
  EXPECT_TRUE(opening.get());
  EXPECT_EQ(pinning.get().value(), Pinned::kFetched);
  EXPECT_FALSE(open(put("b"))) << "it is pinned";
}

TEST_F(ObjectCacheTest, APinReportsEachPartAndEndsWhenItsCallerSaysSo) {
  start(8);
  std::atomic<std::uint64_t> bytes{0};
  const auto count = [&](std::uint64_t more) {
    bytes += more;
    return true;
  };
  ASSERT_TRUE(pin_later(put("a", 12 * kMiB), count).get());
  EXPECT_EQ(bytes, 12 * kMiB);
  const auto given_up = pin_later(put("b", 12 * kMiB), [](std::uint64_t) { return false; }).get();
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(gauge("cache_object_kept"), 1);
}

TEST_F(ObjectCacheTest, AFetchThatFailsPinsNothing) {
  start(1);
  const auto a = put("a");
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  EXPECT_EQ(pin(a).error().code, ErrorCode::kServerError);
  EXPECT_TRUE(open(put("b")));
  EXPECT_EQ(gauge("cache_object_kept"), 0);
}

TEST_F(ObjectCacheTest, PinsThatWaitAreAnsweredAtShutdown) {
  start(3);
  store_.hold();
  auto large = pin_later(put("a", 9 * kMiB));
  ASSERT_TRUE(fakes::eventually([&] { return store_.held().size() == 2; }));
  store_.shut_down();
  cache_->shut_down();
  EXPECT_FALSE(large.get());
  EXPECT_EQ(pin(put("b")).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::cache
