// SPDX-License-Identifier: Apache-2.0
#include "fuse/access_history.h"

#include <gtest/gtest.h>

namespace s3rdmafs::fuse {
namespace {

class AccessHistoryTest : public testing::Test {
 protected:
  static constexpr vfs::Ino kIno = 42;

  // One more opening, all of whose reads are alike. Returns whether it was cached.
  bool read_by(std::size_t read_bytes, std::uint64_t total_bytes, bool fills_page_cache = false,
               vfs::Ino ino = kIno) {
    const bool cached = history_.wants_page_cache(ino);
    for (std::uint64_t at = 0; at < total_bytes; at += read_bytes) {
      history_.on_read(ino, {.bytes = read_bytes, .fills_page_cache = fills_page_cache});
    }
    return cached;
  }
  bool next_is_cached(vfs::Ino ino = kIno) { return history_.wants_page_cache(ino); }

  AccessHistory history_;
};

TEST_F(AccessHistoryTest, AVersionThatWasNeverOpenIsReadDirectly) {
  EXPECT_FALSE(next_is_cached());
}

TEST_F(AccessHistoryTest, LargeReadsKeepTheNextOpeningsDirect) {
  for (int opening = 0; opening < 5; ++opening) EXPECT_FALSE(read_by(kMiB, 64 * kMiB));
}

TEST_F(AccessHistoryTest, SmallReadsMakeTheNextOpeningCached) {
  EXPECT_FALSE(read_by(4 * kKiB, kMiB));
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, AMappingMakesTheNextOpeningCachedHoweverMuchTheKernelReadsAtOnce) {
  EXPECT_FALSE(read_by(2 * kMiB, 16 * kMiB, true));
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, AReadJustAboveSmallIsLarge) {
  read_by(AccessHistory::kSmallReadBytes + 1, kMiB);
  EXPECT_FALSE(next_is_cached());
  read_by(AccessHistory::kSmallReadBytes, 4 * kMiB);
  EXPECT_TRUE(next_is_cached()) << "the control";
}

TEST_F(AccessHistoryTest, ReadsOfAHeaderTellNothing) {
  read_by(4 * kKiB, AccessHistory::kEvidenceBytes - 4 * kKiB);
  EXPECT_FALSE(next_is_cached());
}

TEST_F(AccessHistoryTest, SmallReadsAmongMoreLargeOnesChangeNothing) {
  read_by(4 * kKiB, 8 * kMiB);
  for (int i = 0; i < 9; ++i) history_.on_read(kIno, {.bytes = kMiB, .fills_page_cache = false});
  EXPECT_FALSE(next_is_cached());
}

TEST_F(AccessHistoryTest, TheLastOpeningCountsMoreThanThoseBefore) {
  for (int opening = 0; opening < 4; ++opening) read_by(kMiB, 64 * kMiB);
  read_by(4 * kKiB, 65 * kMiB);
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, ReadsOfACachedVersionTeachNothing) {
  read_by(4 * kKiB, kMiB);
  EXPECT_TRUE(read_by(2 * kMiB, 64 * kMiB, true));
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, TheHistoryIsLearnedAgainAfterSomeOpenings) {
  read_by(4 * kKiB, kMiB);
  for (unsigned opening = 0; opening < AccessHistory::kOpeningsTrusted; ++opening) {
    EXPECT_TRUE(next_is_cached()) << opening;
  }
  EXPECT_FALSE(read_by(kMiB, 64 * kMiB));
  EXPECT_FALSE(next_is_cached()) << "its reader had changed";
}

TEST_F(AccessHistoryTest, AReaderThatDidNotChangeIsDirectForOneOpening) {
  read_by(4 * kKiB, kMiB);
  for (unsigned opening = 0; opening < AccessHistory::kOpeningsTrusted; ++opening) {
    read_by(4 * kKiB, kMiB);
  }
  EXPECT_FALSE(read_by(4 * kKiB, kMiB));
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, EachVersionHasItsOwnHistory) {
  read_by(4 * kKiB, kMiB);
  EXPECT_FALSE(next_is_cached(kIno + 1));
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, ReadsOfAVersionWhoseOpeningWasNotCountedTakeNoSlot) {
  read_by(4 * kKiB, kMiB);
  history_.on_read(kIno + AccessHistory::kVersionsMax,
                   {.bytes = 64 * kMiB, .fills_page_cache = false});
  EXPECT_TRUE(next_is_cached());
}

TEST_F(AccessHistoryTest, AVersionThatTakesASlotOverBeginsWithoutHistory) {
  read_by(4 * kKiB, kMiB);
  EXPECT_FALSE(next_is_cached(kIno + AccessHistory::kVersionsMax));
  EXPECT_FALSE(next_is_cached()) << "its history is lost";
}

}  // namespace
}  // namespace s3rdmafs::fuse
