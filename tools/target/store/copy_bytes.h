// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Appends the whole of file `from` to the file `to` at its position, inside the kernel where the
/// file system can (some only note that the blocks are shared).
[[nodiscard]] S3Result<void> append_file(int from, std::uint64_t length_bytes, int to);

}  // namespace s3rdmafs::target
