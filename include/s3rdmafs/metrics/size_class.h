// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "s3rdmafs/base/enum_names.h"

namespace s3rdmafs::metrics {

/// How many bytes an operation moves, as a label of histograms: a page, a small file, a large
/// request of the kernel, a block of the cache, a whole object.
enum class SizeClass { kTo4KiB, kTo64KiB, kTo1MiB, kTo8MiB, kLarger };

inline constexpr EnumNames<SizeClass::kLarger> kSizeClassNames({{SizeClass::kTo4KiB, "<=4KiB"},
                                                                {SizeClass::kTo64KiB, "<=64KiB"},
                                                                {SizeClass::kTo1MiB, "<=1MiB"},
                                                                {SizeClass::kTo8MiB, "<=8MiB"},
                                                                {SizeClass::kLarger, ">8MiB"}});

[[nodiscard]] constexpr SizeClass size_class_of(std::uint64_t bytes) noexcept {
  if (bytes <= std::uint64_t{4} << 10) return SizeClass::kTo4KiB;
  if (bytes <= std::uint64_t{64} << 10) return SizeClass::kTo64KiB;
  if (bytes <= std::uint64_t{1} << 20) return SizeClass::kTo1MiB;
  if (bytes <= std::uint64_t{8} << 20) return SizeClass::kTo8MiB;
  return SizeClass::kLarger;
}

}  // namespace s3rdmafs::metrics
