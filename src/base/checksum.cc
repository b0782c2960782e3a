// SPDX-License-Identifier: Apache-2.0
// Both come from ISA-L, which computes them with the processor's vector instructions: CRC-32C is
// its crc32_iscsi, CRC-64/NVME its crc64_rocksoft_refl. ISA-L has the second since 2.31; before
// that crc64nvme.cc takes its place.
#include "s3rdmafs/base/checksum.h"

#include <algorithm>

#include <isa-l/crc.h>
#include <isa-l/crc64.h>

#include "base/crc64nvme.h"

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

std::uint64_t crc64nvme(std::uint64_t crc, std::span<const std::byte> bytes) noexcept {
#if defined(S3RDMAFS_ISAL_HAS_CRC64NVME)
  // It inverts the register at both ends itself, unlike crc32_iscsi.
  return ::crc64_rocksoft_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()),
                               bytes.size());
#else
  return crc64nvme_of_ours(crc, bytes);
#endif
}

}  // namespace s3rdmafs
