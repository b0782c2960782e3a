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

/// The readers of whole objects, and of parts of them, where they lie.
struct ObjectReaders {
  bool kernel = false;    ///< by itself (FUSE passthrough)
  bool programs = false;  ///< past FUSE (daemon/attach/): the mount only reads
};

/// Those that a mount has on this kernel. Passthrough needs Linux 6.9; the kernel confirms it only
/// in INIT, after the mount and long after memory was divided. Where it does not, memory stays
/// unused. A program past FUSE would not see what a mount writes.
[[nodiscard]] ObjectReaders object_readers(bool may_write);

/// Divides the cache. Whole objects get a share only where they have a reader, and with
/// CAP_SYS_ADMIN; otherwise logs the reason.
[[nodiscard]] CacheShares share_cache(const config::MountConfig::Cache& cache,
                                      ObjectReaders readers);

/// The limit on object files: half of this process's limit on descriptors.
[[nodiscard]] std::size_t object_files_max();

}  // namespace s3rdmafs::daemon
