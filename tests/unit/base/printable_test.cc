// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/printable.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(Printable, EscapesEachControlCharacter) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("\x1b[2J\x7f\a"), "\\x1b[2J\\x7f\\x07");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J\xc2\x80"),
            "\\u009b2J\\u0080");
}

// The control.
TEST(Printable, LeavesEverythingElseAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("plain 'text' \\ ~"), "plain 'text' \\ ~");
  EXPECT_EQ(printable("caf\xc3\xa9 \xc2\xa0 \xe2\x82\xac"), "caf\xc3\xa9 \xc2\xa0 \xe2\x82\xac");
  EXPECT_EQ(printable("\xff\x80 \xc2"), "\xff\x80 \xc2") << "no UTF-8, and no control of it";
}

TEST(Printable, KeepsTheLinesOfATextOfSeveral) {
  EXPECT_EQ(printable_lines("one\ntwo\x1b\n\nthree\r\n"), "one\ntwo\\x1b\n\nthree\\r\n");
  EXPECT_EQ(printable_lines("one"), "one");
}

}  // namespace
}  // namespace s3rdmafs
