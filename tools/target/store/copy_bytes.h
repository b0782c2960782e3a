// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Appends a range of file `from` to the file `to` at its position, inside the kernel (some file
/// systems only note that the blocks are shared).
[[nodiscard]] S3Result<void> append_range(int from, std::uint64_t offset_bytes,
                                          std::uint64_t length_bytes, int to);

}  // namespace s3rdmafs::target
