// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// The least that is ever fetched and the grain of what is known to be there: a random 4 KiB read
/// costs 64 KiB of transfer.
inline constexpr std::uint64_t kUnitBytes = 64 * kKiB;

/// Which units of a block: one bit each, unit 0 lowest, 128 at most. (The compilers' own 128-bit
/// integer; std::bitset cannot find a bit.)
using UnitMask = __uint128_t;
inline constexpr std::uint64_t kUnitsMax = 128;

/// Units [first, last); last <= kUnitsMax.
[[nodiscard]] constexpr UnitMask unit_mask(std::uint64_t first, std::uint64_t last) noexcept {
  const UnitMask below_last = last >= kUnitsMax ? ~UnitMask{0} : (UnitMask{1} << last) - 1;
  const UnitMask below_first = (UnitMask{1} << first) - 1;
  return below_last & ~below_first;
}

/// A run of units, [first, last).
struct UnitRun {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The number of zeros below the lowest one; kUnitsMax for an empty mask.
[[nodiscard]] constexpr std::uint64_t lowest_unit(UnitMask mask) noexcept {
  const auto low = static_cast<std::uint64_t>(mask);
  if (low != 0) return static_cast<std::uint64_t>(std::countr_zero(low));
  return 64 + static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(mask >> 64)));
}

/// The lowest run of a mask that is not empty.
[[nodiscard]] constexpr UnitRun lowest_run(UnitMask mask) noexcept {
  const std::uint64_t first = lowest_unit(mask);
  return {.first = first, .last = lowest_unit(~mask & ~unit_mask(0, first))};
}

}  // namespace s3rdmafs::cache
