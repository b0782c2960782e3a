// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "config/mount_config.h"
#include "memory/memory_file.h"

namespace s3rdmafs::daemon {

/// How cache.size is divided.
struct CacheShares {
  std::uint64_t blocks_bytes = 0;            ///< taken at mount, for objects read in pieces
  std::uint64_t objects_bytes = 0;           ///< for objects that are resident as a whole; may be 0
  std::optional<memory::HugeTmpfs> objects;  ///< holds those; nothing where objects_bytes is 0
};

/// Divides the cache. Whole objects get a share only where the kernel can read them by itself
/// (passthrough: Linux 6.9 and CAP_SYS_ADMIN); otherwise logs the reason.
[[nodiscard]] CacheShares share_cache(const config::MountConfig::Cache& cache);

/// The limit on object files: half of this process's limit on descriptors.
[[nodiscard]] std::size_t object_files_max();

}  // namespace s3rdmafs::daemon
