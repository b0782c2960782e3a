// SPDX-License-Identifier: Apache-2.0
#include "fuse/io_mode_policy.h"

#include <gtest/gtest.h>

namespace s3rdmafs::fuse {
namespace {

constexpr vfs::Ino kIno = 42;
constexpr std::uint64_t kLarge = IoModePolicy::kLargeFileBytes;

TEST(IoModePolicy, LargeFilesAreDirectAndSmallOnesCached) {
  IoModePolicy modes({});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, true), OpenMode::kDirect);
  EXPECT_EQ(modes.choose(kIno, "a", kLarge - 1, true), OpenMode::kCached);
}

TEST(IoModePolicy, WhereDirectFilesCannotBeMappedAllAreCached) {
  IoModePolicy modes({});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, false), OpenMode::kCached);
}

TEST(IoModePolicy, TheHabitsOfReadersDecideForLargeFiles) {
  IoModePolicy modes({});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, true), OpenMode::kDirect);
  modes.on_read(kIno, {.bytes = kMiB, .fills_page_cache = true});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, true), OpenMode::kCached);
}

TEST(IoModePolicy, AModeOfTheMountFileIsForAllFilesWhateverTheirReadersDo) {
  IoModePolicy buffered({.mode = config::ReadMode::kBuffered});
  EXPECT_EQ(buffered.choose(kIno, "a", kLarge, true), OpenMode::kCached);

  IoModePolicy direct({.mode = config::ReadMode::kDirect});
  EXPECT_EQ(direct.choose(kIno, "a", 1, false), OpenMode::kDirect);
  direct.on_read(kIno, {.bytes = kMiB, .fills_page_cache = true});
  EXPECT_EQ(direct.choose(kIno, "a", kLarge, true), OpenMode::kDirect);
}

TEST(IoModePolicy, PatternsOfTheMountFileComeBeforeItsMode) {
  const config::MountConfig::Read rules{.buffered = "*.map", .direct = "*.bulk,*.map"};
  for (const auto mode :
       {config::ReadMode::kAuto, config::ReadMode::kDirect, config::ReadMode::kBuffered}) {
    config::MountConfig::Read with_mode = rules;
    with_mode.mode = mode;
    IoModePolicy modes(with_mode);
    EXPECT_EQ(modes.choose(kIno, "x/a.map", kLarge, true), OpenMode::kCached);
    EXPECT_EQ(modes.choose(kIno, "x/a.bulk", 1, true), OpenMode::kDirect);
  }
}

}  // namespace
}  // namespace s3rdmafs::fuse
