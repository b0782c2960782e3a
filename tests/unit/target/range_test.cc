// SPDX-License-Identifier: Apache-2.0
#include "target/s3/range.h"

#include <gtest/gtest.h>

namespace s3rdmafs::target {
namespace {

/// "OFFSET+LENGTH", "whole" where the header is ignored, or the error's code.
std::string outcome(std::string_view header, std::uint64_t size) {
  const auto range = parse_range(header, size);
  if (!range) return std::string(range.error().code.name);
  if (!*range) return "whole";
  return std::to_string((*range)->offset_bytes) + "+" + std::to_string((*range)->length_bytes);
}

TEST(Range, ReadsTheThreeForms) {
  EXPECT_EQ(outcome("bytes=0-99", 1000), "0+100");
  EXPECT_EQ(outcome("bytes=999-", 1000), "999+1");
  EXPECT_EQ(outcome("bytes=-100", 1000), "900+100");
}

TEST(Range, IsCutAtTheEndOfTheObject) {
  EXPECT_EQ(outcome("bytes=990-2000", 1000), "990+10");
  EXPECT_EQ(outcome("bytes=-5000", 1000), "0+1000");
  EXPECT_EQ(outcome("bytes=990-99999999999999999999999", 1000), "990+10");
}

TEST(Range, OutsideTheObjectIsInvalid) {
  EXPECT_EQ(outcome("bytes=1000-", 1000), "InvalidRange");
  EXPECT_EQ(outcome("bytes=99999999999999999999-", 1000), "InvalidRange");
  EXPECT_EQ(outcome("bytes=0-0", 0), "InvalidRange");
  EXPECT_EQ(outcome("bytes=-0", 1000), "InvalidRange");
  EXPECT_EQ(outcome("bytes=-1", 0), "InvalidRange");
}

TEST(Range, OtherTextIsIgnored) {
  for (const char* header :
       {"bytes=", "bytes=-", "bytes=5-1", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=1"}) {
    EXPECT_EQ(outcome(header, 1000), "whole") << header;
  }
}

TEST(Range, WritesContentRange) {
  EXPECT_EQ((ByteRange{.offset_bytes = 10, .length_bytes = 5}.content_range(100)),
            "bytes 10-14/100");
}

}  // namespace
}  // namespace s3rdmafs::target
