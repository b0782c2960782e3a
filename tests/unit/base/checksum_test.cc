// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/checksum.h"

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/crc64nvme.h"

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

/// Bit by bit, as it is defined.
std::uint64_t slow_crc64nvme(std::span<const std::byte> bytes) {
  std::uint64_t state = ~std::uint64_t{0};
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint64_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      state = (state >> 1) ^ ((state & 1) != 0 ? 0x9A6C9329AC4BC9B5U : 0);
    }
  }
  return ~state;
}

// Short and long inputs take different paths, and each path has an odd end. Where ISA-L has no
// CRC-64/NVME, the two functions are one.
TEST(Crc64Nvme, IsTheDefinitionsForEveryLengthAndAlignmentWithAndWithoutIsal) {
  std::string text(1500, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i * 31 + i / 7);
  for (std::size_t length = 0; length <= 1400; length += length < 300 ? 1 : 13) {
    const auto bytes = bytes_of(text).subspan(length % 17, length);
    ASSERT_EQ(crc64nvme(0, bytes), slow_crc64nvme(bytes)) << length << " bytes";
    for (const Crc64Way way : {Crc64Way::kTables, Crc64Way::kFolding, Crc64Way::kWideFolding}) {
      if (way > best_crc64_way()) continue;
      ASSERT_EQ(crc64nvme_of_ours(0, bytes, way), slow_crc64nvme(bytes))
          << length << " bytes, way " << static_cast<int>(way);
    }
  }
}

// The control of the test above: it has tried more than the tables where it could.
TEST(Crc64Nvme, IsFoldedOnEachProcessorThatMultipliesWithoutCarry) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const bool multiplies =
      text.find(" pclmulqdq ") != std::string::npos || text.find(" pmull ") != std::string::npos;
  if (!multiplies) GTEST_SKIP() << "this processor has neither PCLMULQDQ nor PMULL";
  EXPECT_GE(best_crc64_way(), Crc64Way::kFolding);
}

TEST(Crc64Nvme, GoesOnFromTheSameValueWithAndWithoutIsal) {
  const std::string text(10'007, 'x');
  for (const std::size_t cut : {1, 7, 8, 4096, 10'006}) {
    const auto all = bytes_of(text);
    const std::uint64_t first = crc64nvme_of_ours(0, all.first(cut));
    EXPECT_EQ(crc64nvme(first, all.subspan(cut)), crc64nvme_of_ours(first, all.subspan(cut)));
  }
}

TEST(Crc64Nvme, OfTheWholeIsThoseOfItsPartsJoined) {
  std::vector<std::byte> bytes(100'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3U);
  const std::span<const std::byte> all = bytes;
  for (const std::size_t cut : {0UL, 1UL, 7UL, 4096UL, 65'536UL, 100'002UL, 100'003UL}) {
    const std::uint64_t joined = crc64nvme_joined(crc64nvme(0, all.first(cut)),
                                                  crc64nvme(0, all.subspan(cut)), all.size() - cut);
    EXPECT_EQ(joined, crc64nvme(0, all)) << cut;
  }
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
