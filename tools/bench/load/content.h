// SPDX-License-Identifier: Apache-2.0
// What the benchmark's real files hold, so that a reader can tell that it got bytes of the right
// place at the price of one comparison a page: each 4 KiB page begins with a stamp of its number.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace s3rdmafs::bench {

inline constexpr std::uint64_t kPageBytes = 4096;

/// Never zero, so that memory never written is told from page 0.
inline std::uint64_t stamp_of_page(std::uint64_t page) {
  // Odd multiplier (2^64 over the golden ratio): neighbours differ in every byte.
  return (page + 1) * 0x9E3779B97F4A7C15U;
}

/// Whether every page that begins in `bytes`, read at `offset` of a file, has its stamp.
inline bool is_stamped(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::uint64_t page = (offset + kPageBytes - 1) / kPageBytes;
  for (; (page * kPageBytes) - offset + sizeof(std::uint64_t) <= bytes.size(); ++page) {
    std::uint64_t found = 0;
    std::memcpy(&found, bytes.data() + (page * kPageBytes - offset), sizeof(found));
    if (found != stamp_of_page(page)) return false;
  }
  return true;
}

}  // namespace s3rdmafs::bench
