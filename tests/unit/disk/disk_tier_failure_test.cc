// SPDX-License-Identifier: Apache-2.0
// A disk that cannot be written to, or is full.
#include <signal.h>

#include "fakes/resource_limit.h"
#include "unit/disk/disk_tier_fixture.h"

namespace s3rdmafs::disk {
namespace {

/// The process may make no file longer than this, as where a quota is spent.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : limit_(RLIMIT_FSIZE, bytes) {
    ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  }

 private:
  const fakes::ResourceLimit limit_;
};

TEST_F(DiskTierTest, ADiskThatFailsIsLeftAloneForAWhileAndThenTriedAgain) {
  const std::string bytes = content(18, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  {
    const FileSizeLimit limit(kMiB);
    EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
    ASSERT_TRUE(rig_.wait());
  }
  EXPECT_EQ(rig_.metrics->gauge("disk_up", "").value(), 0);
  EXPECT_EQ(rig_.counted("disk_errors_total"), 1U);

  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.counted("disk_written_bytes_total"), 0U) << "it is being left alone";

  rig_.clock.advance(rig_.options.rest);
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig_.wait());
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, AfterAFailedWriteHitsGoOnAndTheNextWriteGoesToAnotherSegment) {
  const std::string first = content(22, kMiB);
  const std::string first_etag = put_and_read("a", first);
  const std::string second = content(23, kMiB);
  {
    const FileSizeLimit limit(kMiB);
    put_and_read("b", second);
  }
  EXPECT_EQ(rig_.counted("disk_errors_total"), 1U) << "the control: the write fails";
  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);

  rig_.clock.advance(rig_.options.rest);
  const std::string second_etag = put_and_read("b", second);
  EXPECT_EQ(rig_.files(".data").size(), 2U);
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST(DiskTier, AFileSystemThatHasNoMoreThanTheReserveIsLeftAlone) {
  DiskRig rig;
  rig.options.reserve_bytes = 1024 * kTiB;
  ASSERT_TRUE(rig.start());
  const std::string bytes = content(19, kMiB);
  const std::string etag = rig.store.put("k", bytes);
  EXPECT_EQ(rig.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.bytes_on_disk(), 0U);
  EXPECT_EQ(rig.metrics->gauge("disk_up", "").value(), 0);
}

TEST(DiskTier, ASmallerReserveThanWasKeptBeforeGivesRoomBackAtTheStart) {
  DiskRig rig;
  ASSERT_TRUE(rig.start());
  const std::string etag = rig.store.put("k", content(20, kMiB));
  ASSERT_TRUE(rig.get("k", etag, 0, kMiB));
  rig.stop();
  ASSERT_GT(rig.bytes_on_disk(), 0U);
  rig.options.reserve_bytes = 1024 * kTiB;
  ASSERT_TRUE(rig.start());
  EXPECT_EQ(rig.bytes_on_disk(), 0U);
}

}  // namespace
}  // namespace s3rdmafs::disk
