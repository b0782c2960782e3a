// SPDX-License-Identifier: Apache-2.0
#include "target/digest/crc_combine.h"

#include <gtest/gtest.h>

namespace s3rdmafs::target {
namespace {

std::string checksum_of(ChecksumKind kind, std::string_view text) {
  Checksum checksum(kind);
  checksum.update(std::as_bytes(std::span(text)));
  return checksum.finish();
}

TEST(Checksum, HasThePublishedCheckValues) {
  EXPECT_EQ(to_hex(checksum_of(ChecksumKind::kCrc32, "123456789")), "cbf43926");
  EXPECT_EQ(to_hex(checksum_of(ChecksumKind::kCrc32c, "123456789")), "e3069283");
  EXPECT_EQ(to_hex(checksum_of(ChecksumKind::kCrc64Nvme, "123456789")), "ae8b14860a799888");
}

TEST(CrcCombine, EqualsTheCrcOfTheWholeWhereverItIsCut) {
  std::string whole;
  for (int i = 0; i < 1000; ++i) whole.push_back(static_cast<char>(i * 7 + i / 13));
  for (const auto kind : {ChecksumKind::kCrc32, ChecksumKind::kCrc32c, ChecksumKind::kCrc64Nvme}) {
    for (const std::size_t cut :
         {std::size_t{0}, std::size_t{1}, std::size_t{500}, std::size_t{999}, std::size_t{1000}}) {
      const std::string first = whole.substr(0, cut);
      const std::string second = whole.substr(cut);
      EXPECT_EQ(
          combine_crc(kind, checksum_of(kind, first), checksum_of(kind, second), second.size()),
          checksum_of(kind, whole));
    }
  }
}

TEST(CrcCombine, DoesNotPretendForHashes) {
  EXPECT_FALSE(combine_crc(ChecksumKind::kSha256, "", "", 0));
}

}  // namespace
}  // namespace s3rdmafs::target
