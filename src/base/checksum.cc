// SPDX-License-Identifier: Apache-2.0
// The two checksums of S3 that cover whole objects.
//
// CRC-32C comes from ISA-L (crc32_iscsi is the same polynomial, vectorised). Debian 12's ISA-L 2.30
// has no CRC-64/NVME (2.31 brings it as crc64_rocksoft), so that one is computed here, eight bytes
// at a time over eight tables made at compile time: about 2 GB/s a core, 16 KiB of tables.
#include "s3rdmafs/base/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include <isa-l/crc.h>

namespace s3rdmafs {
namespace {

constexpr std::uint64_t kNvmePolynomial = 0x9A6C9329AC4BC9B5;  // reflected

using Table = std::array<std::uint64_t, 256>;

// tables[k][b]: the CRC of byte b followed by k zero bytes.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kNvmePolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t previous = tables[k - 1][byte];
      tables[k][byte] = (previous >> 8) ^ tables[0][previous & 0xFF];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

static_assert(std::endian::native == std::endian::little,
              "the eight-byte step reads little-endian");

}  // namespace

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
  std::uint64_t state = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    state ^= word;
    std::uint64_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) next ^= kTables[7 - k][(state >> (8 * k)) & 0xFF];
    state = next;
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) {
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint64_t>(byte)) & 0xFF];
  }
  return ~state;
}

}  // namespace s3rdmafs
