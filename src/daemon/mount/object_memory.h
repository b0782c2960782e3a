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

/// Who can read whole objects, and parts of them, where they lie.
struct ObjectReaders {
  bool kernel = false;    ///< by itself (FUSE passthrough)
  bool programs = false;  ///< past FUSE (daemon/attach/): the mount only reads
};

/// Whether this kernel may have passthrough: Linux 6.9. It confirms it only in INIT, after the
/// mount and long after memory was divided; where it does not, memory stays unused.
[[nodiscard]] bool kernel_may_pass_through();

/// Divides the cache. Whole objects get a share only where somebody can read them, and with
/// CAP_SYS_ADMIN; otherwise logs the reason.
[[nodiscard]] CacheShares share_cache(const config::MountConfig::Cache& cache,
                                      ObjectReaders readers);

/// The limit on object files: half of this process's limit on descriptors.
[[nodiscard]] std::size_t object_files_max();

}  // namespace s3rdmafs::daemon
