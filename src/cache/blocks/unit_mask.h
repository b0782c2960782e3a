// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::cache {

/// A set of units (kUnitBytes) of a block: one bit each, unit 0 lowest, 128 at most. The compilers'
/// own 128-bit integer, since std::bitset cannot find a bit.
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

/// The lowest unit of the mask; kUnitsMax if it is empty.
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
