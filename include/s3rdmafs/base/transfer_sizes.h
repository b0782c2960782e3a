// SPDX-License-Identifier: Apache-2.0
// Sizes that several layers share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs {

/// The least that a cache asks for, and the unit that it holds and (on disk) verifies by a checksum
/// of its own: a random read of 4 KiB transfers 64 KiB.
inline constexpr std::uint64_t kUnitBytes = 64 * kKiB;

/// A memory region of the read cache: the unit of registration, of quarantine and of eviction, and
/// the longest GET. Large enough that a cache of 100 GiB has no more regions than a NIC handles
/// well (12,800); small enough that one late write withholds little.
inline constexpr std::size_t kSlabBytes = 8 * kMiB;

}  // namespace s3rdmafs
