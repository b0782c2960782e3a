// SPDX-License-Identifier: Apache-2.0
// The addresses that servers know memory by: never the same twice, and in step with the memory's.
#include "rdma/verbs/address_space.h"

#include <set>

#include <gtest/gtest.h>

namespace s3rdmafs::rdma::verbs {
namespace {

constexpr std::uint64_t kHugePage = FreshAddresses::kAlignment;

std::span<const std::byte> memory(std::uint64_t address, std::size_t length) {
  return {reinterpret_cast<const std::byte*>(address), length};
}

TEST(AddressSpace, GivesTheSameMemoryAnotherAddressEachTime) {
  FreshAddresses addresses(FreshAddresses::kLowest);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(seen.insert(addresses.take(memory(0x7f00'0000'0000, 8 << 20))).second);
  }
}

TEST(AddressSpace, GivesRangesThatDoNotOverlap) {
  FreshAddresses addresses(FreshAddresses::kLowest);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::size_t length = 1 + i * 77'777;
    const std::uint64_t begin = addresses.take(memory(0x7f00'0000'0000 + i * 4096, length));
    EXPECT_GE(begin, end);
    end = begin + length;
  }
}

TEST(AddressSpace, KeepsTheMemorysOwnAddressModuloAHugePage) {
  FreshAddresses addresses(FreshAddresses::kLowest);
  for (const std::uint64_t address :
       {0x7f00'0000'0000ULL, 0x7f00'0000'1000ULL, 0x7f00'001f'ffffULL}) {
    EXPECT_EQ(addresses.take(memory(address, 4096)) % kHugePage, address % kHugePage);
  }
}

TEST(AddressSpace, ComesRoundAtItsEndWithoutARangeThatCrossesIt) {
  FreshAddresses addresses(FreshAddresses::kEnd - 2 * kHugePage);
  EXPECT_EQ(addresses.take(memory(0x7f00'0000'0000, kHugePage)),
            FreshAddresses::kEnd - 2 * kHugePage);
  EXPECT_EQ(addresses.take(memory(0x7f00'0000'0000, 2 * kHugePage)), FreshAddresses::kLowest);
  EXPECT_EQ(addresses.take(memory(0x7f00'0000'0000, 1)), FreshAddresses::kLowest + 2 * kHugePage);
}

TEST(AddressSpace, OfAProcessIsOne) {
  const std::uint64_t first = process_addresses().take(memory(0x7f00'0000'0000, 4096));
  EXPECT_NE(process_addresses().take(memory(0x7f00'0000'0000, 4096)), first);
  EXPECT_GE(first, FreshAddresses::kLowest);
  EXPECT_LT(first, FreshAddresses::kEnd);
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
