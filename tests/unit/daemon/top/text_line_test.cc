// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/text_line.h"

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

TEST(TextLine, CutsWhatDoesNotFit) {
  TextLine line(8, /*is_plain=*/true);
  line.add("abcdef").add("ghijk").add("l");
  EXPECT_EQ(line.text(), "abcdefgh");
  EXPECT_EQ(line.cells(), 8U);
}

TEST(TextLine, FillsAndCutsColumns) {
  TextLine line(20, true);
  line.add_left("ab", 4).add_right("12", 5).add_left("longer", 3).add("|");
  EXPECT_EQ(line.text(), "ab     12lon|");
}

TEST(TextLine, CountsCellsAndNotBytes) {
  EXPECT_EQ(cells_of("abc"), 3U);
  EXPECT_EQ(cells_of("é"), 1U);
  EXPECT_EQ(cells_of("e\xcc\x81"), 1U);  // with a combining accent
  EXPECT_EQ(cells_of("日本"), 4U);
  TextLine line(5, true);
  line.add("日本語");  // the third has no room, and is not cut in two
  EXPECT_EQ(line.text(), "日本");
  line.add("x");
  EXPECT_EQ(line.text(), "日本x");
}

TEST(TextLine, BytesThatAreNotUtf8TakeACellEach) {
  TextLine line(10, true);
  line.add("a\xff\xfe z\xc3");
  EXPECT_EQ(line.text(), "a?? z?");
  EXPECT_EQ(line.cells(), 6U);
}

TEST(TextLine, StylesTakeNoCellsAndEndWithTheirText) {
  TextLine line(10, /*is_plain=*/false);
  line.add("ab", Style::kAlert).add("", Style::kBold).add("c");
  EXPECT_EQ(line.text(), "\x1b[1;31mab\x1b[0mc");
  EXPECT_EQ(line.cells(), 3U);
}

}  // namespace
}  // namespace s3rdmafs::daemon
