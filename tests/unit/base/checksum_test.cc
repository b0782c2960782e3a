// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/checksum.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

constexpr std::string_view kCheckInput = "123456789";  // the input of every CRC catalogue

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32c, GivesTheCatalogueValue) {
  EXPECT_EQ(crc32c(0, bytes_of(kCheckInput)), 0xE3069283U);
  EXPECT_EQ(crc32c(0, {}), 0U);
}

TEST(Crc64Nvme, GivesTheCatalogueValue) {
  EXPECT_EQ(crc64nvme(0, bytes_of(kCheckInput)), 0xAE8B14860A799888U);
  EXPECT_EQ(crc64nvme(0, {}), 0U);
}

TEST(Checksums, AreTheSameInOneStepAndInMany) {
  const std::string text(10'007, 'x');
  for (const std::size_t cut : {1, 7, 8, 4096, 10'006}) {
    const auto all = bytes_of(text);
    EXPECT_EQ(crc32c(crc32c(0, all.first(cut)), all.subspan(cut)), crc32c(0, all));
    EXPECT_EQ(crc64nvme(crc64nvme(0, all.first(cut)), all.subspan(cut)), crc64nvme(0, all));
  }
}

TEST(Checksums, SeeASingleChangedBit) {
  std::string text(1000, 'x');
  const auto before32 = crc32c(0, bytes_of(text));
  const auto before64 = crc64nvme(0, bytes_of(text));
  text[500] ^= 1;
  EXPECT_NE(crc32c(0, bytes_of(text)), before32);
  EXPECT_NE(crc64nvme(0, bytes_of(text)), before64);
}

}  // namespace
}  // namespace s3rdmafs
