// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/s3/uri.h"

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

TEST(UriEncode, KeepsOnlyUnreservedBytes) {
  EXPECT_EQ(uri_encode("AZaz09-._~", false), "AZaz09-._~");
  EXPECT_EQ(uri_encode("a b+c%d&=", false), "a%20b%2Bc%25d%26%3D");
  EXPECT_EQ(uri_encode("\xC3\xBC\x01\xFF", false), "%C3%BC%01%FF");
}

TEST(UriEncode, KeepsSlashesInPathsOnly) {
  EXPECT_EQ(uri_encode("/a/b", true), "/a/b");
  EXPECT_EQ(uri_encode("/a/b", false), "%2Fa%2Fb");
}

TEST(UriDecode, UndoesEncodingOfEveryByte) {
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  EXPECT_EQ(uri_decode(uri_encode(every, false)).value(), every);
}

TEST(UriDecode, LeavesPlusAloneAndTakesLowerCaseHex) {
  EXPECT_EQ(uri_decode("a+b%2f%2B").value(), "a+b/+");
}

TEST(UriDecode, RefusesAPercentWithoutTwoHexDigits) {
  for (const char* text : {"%", "a%2", "%zz", "%2", "%2z"}) {
    EXPECT_EQ(uri_decode(text).error().code, ErrorCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
