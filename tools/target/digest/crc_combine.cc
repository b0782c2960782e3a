// SPDX-License-Identifier: Apache-2.0
// Feeding n zero bytes to a CRC register multiplies it by x^(8n) modulo the polynomial, and a CRC
// is linear; so crc(A B) = crc(A) * x^(8 len(B)) + crc(B). (The inversions before and after
// cancel.) The power is had by squaring: 64 multiplications for any length.
#include "target/digest/crc_combine.h"

namespace s3rdmafs::target {
namespace {

/// A reflected polynomial: bit 0 is the coefficient of the highest power, the leading one left out.
struct Polynomial {
  std::uint64_t reflected;
  int width_bits;
};

std::optional<Polynomial> polynomial_of(ChecksumKind kind) {
  switch (kind) {
    case ChecksumKind::kCrc32:
      return Polynomial{0xEDB88320, 32};
    case ChecksumKind::kCrc32c:
      return Polynomial{0x82F63B78, 32};
    case ChecksumKind::kCrc64Nvme:
      return Polynomial{0x9A6C9329AC4BC9B5, 64};
    case ChecksumKind::kSha1:
    case ChecksumKind::kSha256:
      break;
  }
  return std::nullopt;
}

/// a * b modulo the polynomial.
std::uint64_t multiply(const Polynomial& polynomial, std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (int bit = polynomial.width_bits - 1; bit >= 0; --bit) {
    if ((a >> bit & 1) != 0) product ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ polynomial.reflected : b >> 1;  // b * x
  }
  return product;
}

/// x^(8n).
std::uint64_t zeros_operator(const Polynomial& polynomial, std::uint64_t n) {
  std::uint64_t power = std::uint64_t{1} << (polynomial.width_bits - 1);  // x^0
  std::uint64_t square = power >> 8;                                      // x^8
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) power = multiply(polynomial, power, square);
    square = multiply(polynomial, square, square);
  }
  return power;
}

std::uint64_t from_big_endian(const std::string& raw) {
  std::uint64_t value = 0;
  for (const char c : raw) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

std::optional<std::string> combine_crc(ChecksumKind kind, const std::string& first,
                                       const std::string& second,
                                       std::uint64_t second_length_bytes) {
  const auto polynomial = polynomial_of(kind);
  if (!polynomial) return std::nullopt;
  const std::uint64_t combined =
      multiply(*polynomial, zeros_operator(*polynomial, second_length_bytes),
               from_big_endian(first)) ^
      from_big_endian(second);
  std::string raw;
  for (int shift = polynomial->width_bits - 8; shift >= 0; shift -= 8) {
    raw.push_back(static_cast<char>(combined >> shift));
  }
  return raw;
}

}  // namespace s3rdmafs::target
