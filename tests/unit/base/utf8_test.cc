// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/utf8.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(Utf8, ACharacterHasOneToFourBytes) {
  EXPECT_EQ(utf8_character_bytes("a"), 1U);
  EXPECT_EQ(utf8_character_bytes("\u00e9x"), 2U);
  EXPECT_EQ(utf8_character_bytes("\u20ac"), 3U);
  EXPECT_EQ(utf8_character_bytes("\U0001F600"), 4U);
  EXPECT_EQ(utf8_character_bytes(""), 0U);
  for (const char* invalid : {"\x80", "\xc3", "\xc3x", "\xc0\x80", "\xed\xa0\x80", "\xff"}) {
    EXPECT_EQ(utf8_character_bytes(invalid), 0U);
  }
}

TEST(Utf8, TheBeginningEndsBeforeTheFirstByteThatIsNotUtf8) {
  EXPECT_EQ(utf8_beginning("a\u00e9\u20ac"), "a\u00e9\u20ac") << "the control";
  EXPECT_EQ(utf8_beginning("a\u00e9\xc3"
                           "b"),
            "a\u00e9");
  EXPECT_EQ(utf8_beginning("\xff"
                           "a"),
            "");
  EXPECT_EQ(utf8_beginning(""), "");
}

}  // namespace
}  // namespace s3rdmafs
