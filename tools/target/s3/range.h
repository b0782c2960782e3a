// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "target/s3_error.h"

namespace s3rdmafs::target {

struct ByteRange {
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;

  /// "bytes 0-99/1000".
  [[nodiscard]] std::string content_range(std::uint64_t size_bytes) const;
};

/// Reads "bytes=0-99", "bytes=100-" or "bytes=-100" against an object's size. Nothing for what RFC
/// 9110 section 14.2 says to ignore: another unit, several ranges, a syntax error.
/// Errors: kInvalidRange, with Content-Range along, where none of the bytes exist.
[[nodiscard]] S3Result<std::optional<ByteRange>> parse_range(std::string_view header,
                                                             std::uint64_t size_bytes);

}  // namespace s3rdmafs::target
