// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/units.h"
#include "upload/part_sizes.h"
#include "upload/staged/byte_ranges.h"

namespace s3rdmafs::upload {

/// One part of an object that is stored again. Part numbers are places in the plan, from 1.
struct PlannedPart {
  enum class How {
    kSend,  ///< from a part buffer
    kCopy,  ///< by the server, from the same bytes of the base version
  };
  How how = How::kSend;
  ByteRange bytes;

  friend bool operator==(const PlannedPart&, const PlannedPart&) = default;
};

/// Limits of a plan. The sizes are multiples of part_bytes by powers of two.
struct PlanLimits {
  std::uint64_t part_bytes = 0;      ///< of a part that is sent; S3 wants at least 5 MiB
  std::uint64_t part_bytes_max = 0;  ///< of one that is sent: the largest buffer
  /// Of one that is copied. S3 allows 5 GiB; smaller ones are copied side by side, and each within
  /// the time of a request.
  std::uint64_t copy_bytes_max = kGiB;
  unsigned parts_max = kPartsMax;
};

/// How to make an object of `size_bytes` from its base version and the bytes that were changed. The
/// object is divided into equal parts of part_bytes. Those with a changed byte, or with one beyond
/// the base, are sent; runs of the others are copied. Where that makes too many parts, parts are
/// twice as large, and so on. The plan covers each byte once, in order. Pure; costs O(changed
/// ranges + parts).
/// @param base_bytes  of the base version; nothing: there is no base, or none to copy from
/// @return at least one part unless the object is empty. Errors: kTooLarge.
[[nodiscard]] Result<std::vector<PlannedPart>> plan_upload(std::uint64_t size_bytes,
                                                           std::optional<std::uint64_t> base_bytes,
                                                           const ByteRanges& changed,
                                                           const PlanLimits& limits);

/// How to make an object of `size_bytes` whose first parts were sent before its size was known: its
/// parts have the sizes of an object that is written in order, and all are sent. Pure.
/// @return at least one part unless the object is empty. Errors: kTooLarge.
[[nodiscard]] Result<std::vector<PlannedPart>> plan_in_order(std::uint64_t size_bytes,
                                                             const PartSizes& sizes);

}  // namespace s3rdmafs::upload
