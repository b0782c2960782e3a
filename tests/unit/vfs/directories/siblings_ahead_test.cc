// SPDX-License-Identifier: Apache-2.0
// Sibling directories that are listed before they are opened, as find(1) needs them.
#include <algorithm>

#include <gtest/gtest.h>

#include "mounted_bucket.h"
#include "vfs/directories/ahead_snapshots.h"
#include "vfs/directories/directories.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::seconds;
using Operation = fakes::FakeObjectStore::Operation;

class SiblingsAhead : public testing::Test {
 protected:
  static constexpr int kDirectories = 50;

  void SetUp() override {
    for (int i = 0; i < kDirectories; ++i) {
      for (const char* name : {"a", "b"}) bucket_.store.put(directory(i) + "/" + name, "x");
    }
  }
  static std::string directory(int number) { return "d" + std::to_string(100 + number); }
  std::size_t lists() const { return bucket_.store.count(Operation::kList); }
  std::uint64_t ahead() { return bucket_.counter("vfs_listings_ahead_total"); }
  Ino ino(int number) { return bucket_.ino_of(directory(number)); }

  MountedBucket bucket_;
};

TEST_F(SiblingsAhead, AWalkInOrderListsEachDirectoryOnce) {
  ASSERT_EQ(bucket_.list(kRootIno)->size(), static_cast<std::size_t>(kDirectories));
  bucket_.store.forget_calls();
  for (int i = 0; i < kDirectories; ++i) {
    EXPECT_EQ(bucket_.list(ino(i))->size(), 2U);
    EXPECT_LE(lists(), static_cast<std::size_t>(i + 1) + SiblingOrder::kAheadMax);
  }
  EXPECT_EQ(lists(), static_cast<std::size_t>(kDirectories));
  EXPECT_EQ(ahead(), static_cast<std::uint64_t>(kDirectories - 1));
}

TEST_F(SiblingsAhead, AWalkInOrderWaitsForFewAnswers) {
  ASSERT_TRUE(bucket_.list(kRootIno));
  std::vector<Ino> inodes;
  for (int i = 0; i < kDirectories; ++i) inodes.push_back(ino(i));
  bucket_.store.hold();
  std::size_t waits = 0;
  for (const Ino each : inodes) {
    const std::uint64_t handle = bucket_.fs.open_directory(each).value();
    Answer<std::vector<DirectoryEntry>> answer;
    bucket_.fs.read_directory(handle, 0, 100, {}, answer.done());
    if (!answer.has_come()) {  // one round trip: all that is under way is answered
      ++waits;
      for (std::size_t held = bucket_.store.held().size(); held > 0; --held)
        bucket_.store.release();
    }
    EXPECT_EQ(answer.get()->size(), 4U);
    bucket_.fs.release_directory(handle);
  }
  EXPECT_LE(waits, 8U) << "0.16 of a wait for each";
  EXPECT_GE(waits, 2U) << "the control: there is no other source of names";
}

TEST_F(SiblingsAhead, AnOpenOfOneDirectoryListsNoOther) {
  ASSERT_TRUE(bucket_.list(kRootIno));
  ASSERT_TRUE(bucket_.list(ino(7)));
  EXPECT_EQ(ahead(), 0U);
}

TEST_F(SiblingsAhead, AChangeByAnotherClientShowsAfterTheTtl) {
  ASSERT_TRUE(bucket_.list(kRootIno));
  for (const int i : {0, 1}) ASSERT_TRUE(bucket_.list(ino(i)));
  ASSERT_GT(ahead(), 0U);
  bucket_.store.put(directory(2) + "/c", "x");
  EXPECT_EQ(bucket_.list(ino(2))->size(), 2U) << "the control: it was listed ahead";
  bucket_.store.put(directory(3) + "/c", "x");
  bucket_.clock.advance(MountedBucket::kTtl);
  EXPECT_EQ(bucket_.list(ino(3))->size(), 3U);
}

TEST_F(SiblingsAhead, AListingAheadThatFailsIsAskedForByItsReader) {
  ASSERT_TRUE(bucket_.list(kRootIno));
  const Ino third = ino(2);
  bucket_.store.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.key != "d102/") return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kUnreachable, "failed by the test"}};
  });
  ASSERT_TRUE(bucket_.list(ino(0)));
  ASSERT_GT(ahead(), 0U);
  bucket_.store.fail_if({});
  EXPECT_EQ(bucket_.list(third)->size(), 2U);
}

TEST_F(SiblingsAhead, AListingThatIsNotUsedIsDropped) {
  ASSERT_TRUE(bucket_.list(kRootIno));
  const std::int64_t before = bucket_.gauge("vfs_listings_bytes");
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kDirectories; i += 2) ASSERT_TRUE(bucket_.list(ino(i)));
    bucket_.clock.advance(MountedBucket::kTtl);
    ASSERT_TRUE(bucket_.list(kRootIno));
  }
  EXPECT_GT(ahead(), 30U);
  const std::int64_t kept = bucket_.gauge("vfs_listings_bytes") - before;
  EXPECT_LE(kept, static_cast<std::int64_t>(AheadSnapshots::kMax) * 2000);
  EXPECT_GT(kept, 0) << "the control: some are";
}

TEST_F(SiblingsAhead, ADirectoryThatWasOpenAlreadyEndsWithItsHandle) {
  constexpr std::int64_t kBytes = 100'000;  // more than the others take
  constexpr int kOpen = 12;                 // so far from the first that it begins no walk
  for (int i = 0; i < 5000; ++i) {
    bucket_.store.put(directory(kOpen) + "/n" + std::to_string(i), "x");
  }
  ASSERT_TRUE(bucket_.list(kRootIno));
  const std::uint64_t open = bucket_.fs.open_directory(ino(kOpen)).value();
  std::uint64_t offset = 0;
  for (auto some = bucket_.read_directory(open, 0, 1000); !some->empty();
       some = bucket_.read_directory(open, offset, 1000)) {
    offset = some->back().next_offset;
  }
  ASSERT_GT(bucket_.gauge("vfs_listings_bytes"), kBytes);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(bucket_.list(ino(i)));
  ASSERT_GT(ahead(), 10U) << "the control: the walk has passed it";
  EXPECT_GT(bucket_.gauge("vfs_listings_bytes"), kBytes) << "the control: it is open";
  bucket_.fs.release_directory(open);
  EXPECT_LT(bucket_.gauge("vfs_listings_bytes"), kBytes);
}

/// Keeps the latest deadline of its listings.
class LatestDeadline final : public s3::ObjectStore {
 public:
  explicit LatestDeadline(s3::ObjectStore& store) : store_(store) {}
  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    latest = std::max(latest, deadline);
    store_.list(std::move(request), deadline, std::move(done));
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    store_.get(std::move(request), deadline, std::move(done));
  }
  void shut_down() override {}

  Deadline latest{};

 private:
  s3::ObjectStore& store_;
};

// Its reader gets what the listing ahead gets, a failure too, and would wait beyond its own time.
TEST(ListingAhead, HasNoMoreTimeThanItsReader) {
  for (const seconds call_time : {seconds(2), seconds(60)}) {
    fakes::FakeClock clock;
    fakes::FakeObjectStore bucket(clock);
    for (const char* key : {"a/x", "b/x", "c/x", "d/x"}) bucket.put(key, "x");
    LatestDeadline store(bucket);
    metrics::Registry metrics;
    const auto directories = std::make_shared<Directories>(
        store, clock,
        std::make_shared<NameCache>(
            clock,
            NameCache::Limits{.ttl = seconds(30), .negative_ttl = seconds(5), .entries_max = 9}),
        metrics,
        Directories::Options{.root_prefix = "",
                             .ttl = seconds(30),
                             .listing_bytes_max = kMiB,
                             .call_time = call_time});
    for (const char* prefix : {"", "a/", "b/"}) {
      Answer<std::vector<ListedName>> answer;
      directories->open(prefix)->read(0, 100, {}, answer.done());
    }
    EXPECT_EQ(metrics.counter("vfs_listings_ahead_total", "").value(), 3U);
    EXPECT_EQ(store.latest, clock.now() + std::min(call_time, seconds(10)));
  }
}

TEST(SiblingsAheadOfAMountWithoutTtl, AreNotListed) {
  MountedBucket bucket({.prefix = "", .ttl = seconds(0), .negative_ttl = seconds(0)});
  for (const char* key : {"a/x", "b/x", "c/x", "d/x"}) bucket.store.put(key, "x");
  ASSERT_TRUE(bucket.list(kRootIno));
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(bucket.list(bucket.ino_of(name)));
  EXPECT_EQ(bucket.counter("vfs_listings_ahead_total"), 0U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
