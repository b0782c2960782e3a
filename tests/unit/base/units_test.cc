// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/units.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

using std::chrono::milliseconds;

TEST(ParseSize, ReadsBinaryUnitsAndPlainBytes) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("4096B"), 4096U);
  EXPECT_EQ(parse_size("64KiB"), 65'536U);
  EXPECT_EQ(parse_size("8 MiB"), 8 * kMiB);
  EXPECT_EQ(parse_size("3TiB"), 3 * kTiB);
}

TEST(ParseSize, RefusesWhatCouldMeanTwoThingsOrNothing) {
  for (const char* text : {"", "MiB", "1GB", "1 gib", "-1", "1.5GiB", "1KiBx", "17179869184GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(FormatSize, WritesWhatParseSizeReads) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1500},
                                    64 * kKiB, 5 * kMiB, kGiB, 3 * kTiB}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
  }
  EXPECT_EQ(format_size(8 * kMiB), "8MiB");
}

TEST(ParseDuration, ReadsUnitsAndRefusesBareNumbers) {
  EXPECT_EQ(parse_duration("200ms"), milliseconds(200));
  EXPECT_EQ(parse_duration("30s"), milliseconds(30'000));
  EXPECT_EQ(parse_duration("5 m"), milliseconds(300'000));
  EXPECT_EQ(parse_duration("1h"), milliseconds(3'600'000));
  for (const char* text : {"", "30", "s", "-1s", "1.5s", "1d", "99999999999h"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(FormatDuration, WritesWhatParseDurationReads) {
  for (const int ms : {0, 1, 999, 1000, 1500, 60'000, 3'600'000}) {
    EXPECT_EQ(parse_duration(format_duration(milliseconds(ms))), milliseconds(ms));
  }
}

}  // namespace
}  // namespace s3rdmafs
