// SPDX-License-Identifier: Apache-2.0
#include "load/content.h"

#include <vector>

#include <gtest/gtest.h>

namespace s3rdmafs::bench {
namespace {

/// [offset, offset + length) of a file as `read_load make` writes it.
std::vector<std::byte> part_of_file(std::uint64_t offset, std::uint64_t length) {
  std::vector<std::byte> file(offset + length + kPageBytes);
  for (std::uint64_t page = 0; page * kPageBytes + sizeof(page) <= file.size(); ++page) {
    const std::uint64_t stamp = stamp_of_page(page);
    std::memcpy(file.data() + page * kPageBytes, &stamp, sizeof(stamp));
  }
  return {file.begin() + static_cast<std::ptrdiff_t>(offset),
          file.begin() + static_cast<std::ptrdiff_t>(offset + length)};
}

TEST(StampedContent, IsRecognisedAtAnyOffsetAndLength) {
  for (const std::uint64_t offset : {0, 1, 4095, 4096, 5000, 8192}) {
    for (const std::uint64_t length : {0, 7, 8, 4096, 10'000}) {
      EXPECT_TRUE(is_stamped(part_of_file(offset, length), offset)) << offset << "+" << length;
    }
  }
}

TEST(StampedContent, IsNotMemoryThatWasNeverWritten) {
  EXPECT_FALSE(is_stamped(std::vector<std::byte>(kPageBytes), 0));
}

TEST(StampedContent, IsNotThatOfAnotherPlace) {
  EXPECT_FALSE(is_stamped(part_of_file(kPageBytes, kPageBytes), 0));
}

TEST(StampedContent, IsNotMissingOnASinglePage) {
  auto bytes = part_of_file(0, 8 * kPageBytes);
  bytes[5 * kPageBytes] = ~bytes[5 * kPageBytes];
  EXPECT_FALSE(is_stamped(bytes, 0));
}

}  // namespace
}  // namespace s3rdmafs::bench
