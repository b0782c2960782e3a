// SPDX-License-Identifier: Apache-2.0
// A disk that is smaller than what is read.
#include <gtest/gtest.h>

#include "unit/disk/disk_rig.h"
#include "unit/disk/failing_system_calls.h"

namespace s3rdmafs::disk {
namespace {

constexpr std::uint64_t kSmallSegment = kMiB;

/// Eight segments of 1 MiB.
class SmallDiskTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(rig_.start()); }
  void stream(std::size_t objects) {
    for (std::size_t i = 0; i < objects; ++i) {
      const std::string key = "stream" + std::to_string(streamed_++);
      const std::string etag = rig_.store.put(key, content(streamed_, kMiB / 2));
      ASSERT_TRUE(rig_.get(key, etag, 0, kMiB / 2));
      ASSERT_TRUE(rig_.wait());
      ASSERT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
    }
  }

  DiskRig rig_{8 * (kSmallSegment + kSmallSegment / 1024), kSmallSegment};
  std::size_t streamed_ = 0;
};

TEST_F(SmallDiskTest, TheSizeIsNeverExceeded) {
  stream(40);
  EXPECT_EQ(rig_.files(".data").size(), 8U) << "and is made use of";
  EXPECT_GE(rig_.counted("disk_evictions_total"), 12U);
  EXPECT_LE(static_cast<std::uint64_t>(rig_.metrics->gauge("disk_size_bytes", "").value()),
            rig_.options.size_bytes);
}

TEST_F(SmallDiskTest, BytesReadAgainOutliveBytesThatStreamBy) {
  const std::string bytes = content(0, kMiB);
  const std::string etag = rig_.store.put("kept", bytes);
  ASSERT_TRUE(rig_.get("kept", etag, 0, kMiB));
  ASSERT_TRUE(rig_.wait());
  ASSERT_EQ(rig_.read("kept", etag, 0, kMiB), bytes);
  stream(100);
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("kept", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

// The control: read once only, they go as the others do.
TEST_F(SmallDiskTest, BytesReadOnceStreamBy) {
  const std::string etag = rig_.store.put("once", content(0, kMiB));
  ASSERT_TRUE(rig_.get("once", etag, 0, kMiB));
  stream(100);
  rig_.store.forget_calls();
  ASSERT_TRUE(rig_.get("once", etag, 0, kMiB));
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(SmallDiskTest, ADataSetALittleLargerThanTheDiskReadInACircleStillHits) {
  std::vector<std::string> etags;
  for (int i = 0; i < 10; ++i) {
    etags.push_back(rig_.store.put("k" + std::to_string(i), content(100 + i, kMiB)));
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(rig_.get("k" + std::to_string(i), etags.at(i), 0, kMiB));
      ASSERT_TRUE(rig_.wait());
    }
  }
  EXPECT_GE(rig_.hits(), 40U) << "of 100; the oldest first would have none";
}

TEST_F(SmallDiskTest, AFullIndexEndsASegmentSoThatTinyObjectsStayInsideTheSize) {
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i);
    const std::string etag = rig_.store.put(key, content(i, 100));
    ASSERT_TRUE(rig_.get(key, etag, 0, 100));
  }
  ASSERT_TRUE(rig_.wait());
  EXPECT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
  EXPECT_EQ(rig_.counted("disk_writes_dropped_total"), 0U);
}

TEST_F(SmallDiskTest, AFullQuotaCostsASegmentAndNoRest) {
  stream(4);  // fills two segments
  rig_.stop();
  if (!start_without(rig_, __NR_fallocate, EDQUOT)) GTEST_SKIP() << "no seccomp here";
  stream(1);
  EXPECT_EQ(rig_.counted("disk_writes_dropped_total"), 1U) << "the control: it was refused";
  EXPECT_EQ(rig_.counted("disk_evictions_total"), 1U);
  EXPECT_EQ(rig_.counted("disk_errors_total"), 0U);
  EXPECT_EQ(rig_.metrics->gauge("disk_up", "").value(), 1);
}

TEST_F(SmallDiskTest, ASmallerSizeThanBeforeIsKeptAtOnce) {
  stream(16);
  rig_.options.size_bytes /= 2;
  ASSERT_TRUE(rig_.restart());
  EXPECT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
  EXPECT_GT(rig_.bytes_on_disk(), 0U);
}

}  // namespace
}  // namespace s3rdmafs::disk
