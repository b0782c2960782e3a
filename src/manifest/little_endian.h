// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace s3rdmafs::manifest {

/// A number of two bytes or more: what the shifts below are for.
template <class T>
concept Number = std::unsigned_integral<T> && sizeof(T) >= 2;

/// The number at the beginning of `bytes`, which must be long enough; little-endian.
template <Number T>
[[nodiscard]] T load(std::span<const std::byte> bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(static_cast<T>(value << 8) | std::to_integer<T>(bytes[i]));
  }
  return value;
}

/// Stores it at the beginning of `bytes`, which must be long enough.
template <Number T>
void store(std::span<std::byte> bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<std::byte>(value & 0xFF);
    value = static_cast<T>(value >> 8);
  }
}

}  // namespace s3rdmafs::manifest
