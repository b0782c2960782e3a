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

TEST(IoModePolicy, AllFilesAreCachedWhereDirectOnesCannotBeMapped) {
  IoModePolicy modes({});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, false), OpenMode::kCached);
}

TEST(IoModePolicy, TheHistoryOfReadsDecidesForLargeFiles) {
  IoModePolicy modes({});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, true), OpenMode::kDirect);
  modes.on_read(kIno, {.bytes = kMiB, .fills_page_cache = true});
  EXPECT_EQ(modes.choose(kIno, "a", kLarge, true), OpenMode::kCached);
}

TEST(IoModePolicy, APreferenceHoldsForAllFilesWhateverTheirHistory) {
  IoModePolicy buffered({.preference = IoModePolicy::Preference::kBuffered});
  EXPECT_EQ(buffered.choose(kIno, "a", kLarge, true), OpenMode::kCached);

  IoModePolicy direct({.preference = IoModePolicy::Preference::kDirect});
  EXPECT_EQ(direct.choose(kIno, "a", 1, false), OpenMode::kDirect);
  direct.on_read(kIno, {.bytes = kMiB, .fills_page_cache = true});
  EXPECT_EQ(direct.choose(kIno, "a", kLarge, true), OpenMode::kDirect);
}

TEST(IoModePolicy, RulesForAFileComeBeforeThePreference) {
  const IoModePolicy::Match named_in_both = [](const std::string& path) {
    return path.ends_with(".map");
  };
  const IoModePolicy::Match direct = [&](const std::string& path) {
    return path.ends_with(".bulk") || named_in_both(path);
  };
  for (const auto preference : {IoModePolicy::Preference::kAuto, IoModePolicy::Preference::kDirect,
                                IoModePolicy::Preference::kBuffered}) {
    IoModePolicy modes({.preference = preference, .buffered = named_in_both, .direct = direct});
    EXPECT_EQ(modes.choose(kIno, "x/a.map", kLarge, true), OpenMode::kCached);
    EXPECT_EQ(modes.choose(kIno, "x/a.bulk", 1, true), OpenMode::kDirect);
  }
}

}  // namespace
}  // namespace s3rdmafs::fuse
