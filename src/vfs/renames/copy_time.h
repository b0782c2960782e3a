// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::vfs {

/// How long a server may need to copy an object, beyond the time of any request: as
/// s3::assembly_time(), by the speed of a slow disk.
[[nodiscard]] inline std::chrono::seconds copy_time(std::uint64_t size_bytes) {
  return std::chrono::seconds(size_bytes / (32 * kMiB));
}

}  // namespace s3rdmafs::vfs
