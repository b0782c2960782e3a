// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/object_checksum.h"

#include <string_view>

#include <gtest/gtest.h>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::s3 {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(ChecksumText, IsBase64OfTheBigEndianBytes) {
  EXPECT_EQ(checksum_text(crc64nvme(0, bytes_of("123456789"))), "rosUhgp5mIg=");
  EXPECT_EQ(checksum_text(crc32c(0, bytes_of("123456789"))), "4waSgw==");
}

class MatchesChecksum : public ::testing::Test {
 protected:
  MatchesChecksum() { response_.headers.content_range = "bytes 0-8/9"; }
  std::optional<bool> matches(std::uint64_t offset = 0) {
    return matches_checksum(response_, offset, bytes_of("123456789"));
  }
  HttpResponse response_;
};

TEST_F(MatchesChecksum, ComparesTheWholeObjectsChecksum) {
  response_.headers.checksum_crc64nvme = "rosUhgp5mIg=";
  EXPECT_EQ(matches(), true);
  response_.headers.checksum_crc64nvme = "rosUhgp5mIk=";
  EXPECT_EQ(matches(), false);
}

TEST_F(MatchesChecksum, TakesCrc32cToo) {
  response_.headers.checksum_crc32c = "4waSgw==";
  EXPECT_EQ(matches(), true);
  response_.headers.checksum_crc32c = "4waSgg==";
  EXPECT_EQ(matches(), false);
}

TEST_F(MatchesChecksum, SaysNothingWhereThereIsNothingToCompareWith) {
  EXPECT_EQ(matches(), std::nullopt) << "no checksum";
  response_.headers.checksum_crc32c = "AAAAAA==-3";
  EXPECT_EQ(matches(), std::nullopt) << "of parts";
  response_.headers.checksum_crc32c.clear();
  response_.headers.checksum_crc64nvme = "AAAAAAAAAAA=";
  response_.headers.content_range = "bytes 0-8/10";
  EXPECT_EQ(matches(), std::nullopt) << "of more than these bytes";
  response_.headers.content_range = "bytes 1-9/9";
  EXPECT_EQ(matches(1), std::nullopt);
  response_.headers.content_range = "";
  EXPECT_EQ(matches(), std::nullopt) << "the object's length is not known";
}

}  // namespace
}  // namespace s3rdmafs::s3
