// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::upload {

/// Limits of a multipart upload (Amazon S3 User Guide, "Amazon S3 multipart upload limits").
inline constexpr unsigned kPartsMax = 10'000;
inline constexpr std::uint64_t kObjectBytesMax = 5 * kTiB;

/// How large each part of an object is. An object's length is not known while it is written, and
/// the number of parts is limited. So parts grow: the first 500 have the first size, the next 500
/// twice that, and so on up to the largest. With 8 MiB and 1 GiB, 10,000 parts hold 6.8 TiB, while
/// a file of up to 4 GiB is sent in small pieces. Plain value.
struct PartSizes {
  std::uint64_t first_bytes = 0;
  std::uint64_t max_bytes = 0;  ///< first_bytes times a power of two

  /// @param number  1..kPartsMax
  [[nodiscard]] std::uint64_t of(unsigned number) const noexcept;

  /// The largest object that these parts and S3 allow.
  [[nodiscard]] std::uint64_t object_bytes_max() const noexcept;
};

/// The part sizes for `buffer_bytes` of buffers in all. The largest part is a quarter of them, so
/// that one can fill while others are sent, and at most 1 GiB, which is enough for 5 TiB.
/// @param first_bytes  at most buffer_bytes
[[nodiscard]] PartSizes part_sizes_for(std::uint64_t first_bytes,
                                       std::uint64_t buffer_bytes) noexcept;

}  // namespace s3rdmafs::upload
