// SPDX-License-Identifier: Apache-2.0
#include "upload/part_sizes.h"

#include <algorithm>

namespace s3rdmafs::upload {
namespace {

// 500 parts of 8 MiB are 4 GiB: most files never leave the first size. With many more parts of each
// size, 5 TiB would need parts above 1 GiB.
constexpr unsigned kPartsPerSize = 500;

}  // namespace

std::uint64_t PartSizes::of(unsigned number) const noexcept {
  const unsigned doublings = (number - 1) / kPartsPerSize;  // at most 19: no overflow
  return std::min(first_bytes << doublings, max_bytes);
}

std::uint64_t PartSizes::object_bytes_max() const noexcept {
  std::uint64_t sum = 0;
  for (unsigned number = 1; number <= kPartsMax; number += kPartsPerSize) {
    sum += of(number) * kPartsPerSize;
  }
  return std::min(sum, kObjectBytesMax);
}

PartSizes part_sizes_for(std::uint64_t first_bytes, std::uint64_t buffer_bytes) noexcept {
  constexpr std::uint64_t kLargestPartBytes = kGiB;
  const std::uint64_t limit = std::min(buffer_bytes / 4, kLargestPartBytes);
  PartSizes sizes{.first_bytes = first_bytes, .max_bytes = first_bytes};
  while (sizes.max_bytes * 2 <= limit) sizes.max_bytes *= 2;
  return sizes;
}

}  // namespace s3rdmafs::upload
