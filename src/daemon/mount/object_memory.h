// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "config/mount_config.h"
#include "memory/memory_file.h"

namespace s3rdmafs::daemon {

/// How cache.size is shared out.
struct CacheShares {
  std::uint64_t blocks_bytes = 0;   ///< taken at mount, for objects read by pieces
  std::uint64_t objects_bytes = 0;  ///< for objects that are in memory as a whole; may be 0
  std::optional<memory::HugeTmpfs> objects;  ///< where those lie; none: there are none
};

/// Gives whole objects their share only where the kernel can read them for itself. Logs why not.
[[nodiscard]] CacheShares share_cache(const config::MountConfig::Cache& cache);

/// How many object files there may be: half of the descriptors this process may have now.
[[nodiscard]] std::size_t object_files_max();

}  // namespace s3rdmafs::daemon
