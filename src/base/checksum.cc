// SPDX-License-Identifier: Apache-2.0
// CRC-32C comes from ISA-L: crc32_iscsi is the same polynomial, vectorised. crc64nvme.cc has the
// other one.
#include "s3rdmafs/base/checksum.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace s3rdmafs {

std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  // ISA-L takes an int length and a non-const pointer that it does not write through.
  constexpr std::size_t kStep = std::size_t{1} << 30;
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kStep));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    state = ::crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

}  // namespace s3rdmafs
