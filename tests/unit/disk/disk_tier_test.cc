// SPDX-License-Identifier: Apache-2.0
#include "disk/disk_tier.h"

#include <sys/stat.h>

#include "unit/disk/disk_tier_fixture.h"

namespace s3rdmafs::disk {
namespace {

TEST_F(DiskTierTest, BytesReadOnceComeFromTheDiskTheSecondTime) {
  const std::string bytes = content(1, 9 * kMiB + 77);
  const std::string etag = put_and_read("k", bytes);

  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.last_path, s3::Path::kDisk);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_EQ(rig_.hits(), 1U);
  EXPECT_EQ(rig_.counted("disk_read_bytes_total"), bytes.size());
}

TEST_F(DiskTierTest, ADistrustedVersionComesFromTheServerAndIsNotKept) {
  const std::string bytes = content(1, kMiB);
  const std::string etag = put_and_read("k", bytes);
  const std::string other_etag = put_and_read("other", bytes);
  rig_.tier->invalidate("k", etag);
  for (std::size_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
    EXPECT_NE(rig_.last_path, s3::Path::kDisk);
    EXPECT_EQ(rig_.gets(), round);
  }
  EXPECT_EQ(rig_.read("other", other_etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.last_path, s3::Path::kDisk) << "the control";
}

// The control: without the first read there is nothing on the disk.
TEST_F(DiskTierTest, BytesNotReadBeforeComeFromTheServer) {
  const std::string bytes = content(1, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_NE(rig_.last_path, s3::Path::kDisk);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, AnyRangeOfWhatIsThereIsServedIntoMemoryOfAnyAlignment) {
  const std::string bytes = content(2, 5 * kMiB + 1234);
  const std::string etag = put_and_read("k", bytes);
  const std::size_t page =
      (kDiskBlockBytes - reinterpret_cast<std::uintptr_t>(rig_.region.bytes().data())) %
      kDiskBlockBytes;
  const std::size_t end = bytes.size();
  for (const std::size_t into : {page, page + 1}) {
    for (const auto& [begin, stop] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, end},
             {1, 2},
             {kUnitBytes - 1, kUnitBytes + 1},
             {kUnitBytes, 3 * kUnitBytes},
             {5, 5 * kUnitBytes},
             {kChunkBytes - kUnitBytes, kChunkBytes + kUnitBytes},
             {end - 1, end},
             {end - kUnitBytes, end - 5}}) {
      EXPECT_EQ(rig_.read("k", etag, begin, stop - begin, into), bytes.substr(begin, stop - begin))
          << begin << " to " << stop << " at " << into;
    }
  }
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, NothingIsWrittenOutsideOfTheWindow) {
  const std::string bytes = content(3, kUnitBytes + 100);
  const std::string etag = put_and_read("k", bytes);
  ASSERT_EQ(rig_.read("k", etag, 0, bytes.size(), kDiskBlockBytes), bytes);
  EXPECT_EQ(rig_.region.bytes()[kDiskBlockBytes - 1], std::byte{0xEE});
  EXPECT_EQ(rig_.region.bytes()[kDiskBlockBytes + bytes.size()], std::byte{0xEE});
}

TEST_F(DiskTierTest, PiecesThatWereReadApartServeALongerRead) {
  const std::string bytes = content(4, 3 * kUnitBytes);
  const std::string etag = rig_.store.put("k", bytes);
  for (const std::size_t unit : {2, 0, 1})
    ASSERT_TRUE(rig_.get("k", etag, unit * kUnitBytes, kUnitBytes));
  ASSERT_TRUE(rig_.wait());
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, BytesOnTheDiskSurviveARestart) {
  const std::string bytes = content(5, 6 * kMiB + 1);
  const std::string etag = put_and_read("k", bytes);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, ARestartGoesOnFillingTheYoungestSegment) {
  put_and_read("a", content(1, kMiB));
  ASSERT_TRUE(rig_.restart());
  put_and_read("b", content(2, kMiB));
  EXPECT_EQ(rig_.files(".data").size(), 1U);
}

TEST_F(DiskTierTest, AnOverwrittenObjectIsNeverServedOld) {
  put_and_read("k", content(6, kMiB));
  const std::string bytes = content(7, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, AnotherBucketIsNeverServed) {
  const std::string etag = put_and_read("k", content(8, kMiB));
  rig_.options.scope = "http://127.0.0.1/other";
  ASSERT_TRUE(rig_.restart());
  EXPECT_FALSE(rig_.read("k", etag, 0, kMiB).empty());
  EXPECT_EQ(rig_.gets(), 1U) << "the other bucket's bytes were served";
}

TEST_F(DiskTierTest, OnlyTheOwnerCanReadWhatIsThere) {
  put_and_read("k", content(15, kMiB));
  struct stat status{};
  ASSERT_EQ(::stat(rig_.options.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  for (const auto& entry : std::filesystem::directory_iterator(rig_.options.path)) {
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U) << entry.path();
  }
}

TEST_F(DiskTierTest, AFailureOfTheServerIsPassedOnAndNothingIsKept) {
  const std::string etag = rig_.store.put("k", content(16, kMiB));
  rig_.store.fail_next(fakes::FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut, true);
  const auto failed = rig_.get("k", etag, 0, kMiB);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error.code, ErrorCode::kTimedOut);
  EXPECT_TRUE(failed.error().late_write_possible);
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.counted("disk_written_bytes_total"), 0U);
}

TEST_F(DiskTierTest, HeadAndListGoToTheServer) {
  rig_.store.put("k", "bytes");
  std::promise<std::uint64_t> size;
  rig_.tier->head("k", rig_.clock.now(),
                  [&](Result<s3::ObjectInfo> info) { size.set_value(info->size_bytes); });
  EXPECT_EQ(size.get_future().get(), 5U);
  std::promise<std::size_t> count;
  rig_.tier->list({}, rig_.clock.now(),
                  [&](Result<s3::ListPage> page) { count.set_value(page->objects.size()); });
  EXPECT_EQ(count.get_future().get(), 1U);
}

TEST_F(DiskTierTest, AfterShutDownEveryReadIsCancelled) {
  const std::string etag = put_and_read("k", content(17, kMiB));
  rig_.tier->shut_down();
  const auto cancelled = rig_.get("k", etag, 0, kMiB);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().error.code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::disk
