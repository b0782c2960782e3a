// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/field.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(FieldTest, HasNoWhiteSpaceAndReadsBackAsTheSameBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string field = escaped_field(all);
  for (const char c : field) EXPECT_TRUE(c > ' ' && c <= '~') << int{c};
  EXPECT_EQ(unescaped_field(field), all);
}

TEST(FieldTest, LeavesVisibleCharactersButThePercentSign) {
  EXPECT_EQ(escaped_field("a/b-1~\"x\""), "a/b-1~\"x\"");
  EXPECT_EQ(escaped_field("100% of it"), "100%25%20of%20it");
  EXPECT_EQ(escaped_field(""), "");
}

TEST(FieldTest, APercentSignNeedsTwoDigitsAfterIt) {
  for (const char* wrong : {"%", "a%4", "%4g", "%g4", "%-1", "%%41"}) {
    EXPECT_EQ(unescaped_field(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace s3rdmafs
