// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;
inline constexpr std::uint64_t kTiB = 1024 * kGiB;

/// The least multiple of `step` (a power of two) that is not below `n`.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) noexcept {
  return (n + step - 1) & ~(step - 1);
}
/// The greatest multiple of `step` (a power of two) that is not above `n`.
[[nodiscard]] constexpr std::uint64_t round_down(std::uint64_t n, std::uint64_t step) noexcept {
  return n & ~(step - 1);
}

/// Reads "64KiB", "8 MiB", "1GiB", "2TiB", "4096" or "4096B". Binary units only: "MB" is refused,
/// since it means 10^6 bytes to some readers and 2^20 to others.
/// Errors: kInvalidArgument, with the accepted forms.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

/// The shortest exact spelling that parse_size reads back: "8MiB", "1500".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// Reads "200ms", "30s", "5m", "1h"; a bare number is refused, since its unit would be a guess.
/// Errors: kInvalidArgument, with the accepted forms.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest exact spelling that parse_duration reads back: "30s", "1500ms".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

}  // namespace s3rdmafs
