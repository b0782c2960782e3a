// SPDX-License-Identifier: Apache-2.0
//
// A CRC is a remainder of polynomials over GF(2). The first run stands before the second one, so
// its CRC is multiplied by x to the power of the second one's bits, modulo the polynomial. The
// CRC's inversions at both ends cancel out. Polynomials are reflected here: the highest bit is x^0.
#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs {
namespace {

constexpr std::uint64_t kPolynomial = 0x9A6C9329AC4BC9B5;
constexpr std::uint64_t kOne = 1ULL << 63U;
constexpr std::uint64_t kByte = kOne >> 8U;  // x^8

constexpr std::uint64_t multiply(std::uint64_t one, std::uint64_t other) noexcept {
  std::uint64_t product = 0;
  for (; one != 0; one <<= 1U) {
    if ((one & kOne) != 0) product ^= other;
    other = (other & 1U) != 0 ? (other >> 1U) ^ kPolynomial : other >> 1U;
  }
  return product;
}

}  // namespace

std::uint64_t crc64nvme_joined(std::uint64_t first, std::uint64_t second,
                               std::uint64_t second_bytes) noexcept {
  std::uint64_t power = kByte;
  for (std::uint64_t left = second_bytes; left != 0; left >>= 1U) {
    if ((left & 1U) != 0) first = multiply(power, first);
    power = multiply(power, power);
  }
  return first ^ second;
}

}  // namespace s3rdmafs
