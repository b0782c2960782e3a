// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "cache/blocks/block_cache.h"
#include "cache/whole/object_cache.h"
#include "config/mount_config.h"
#include "daemon/mount/object_memory.h"
#include "memory/arena.h"
#include "rdma/fabric.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// Smaller objects stay in the kernel's page cache: there their second reader pays as little, and
/// a whole object takes at least 2 MiB of the cache.
inline constexpr std::uint64_t kPassthroughFromBytes = kMiB;

/// The caches of one mount and the memory below them. Members are destroyed in reverse, so each
/// cache goes before its memory.
struct Caches {
  std::unique_ptr<memory::Arena> arena;
  std::unique_ptr<cache::BlockCache> blocks;
  std::unique_ptr<cache::ObjectCache> objects;  ///< null where they have no reader
  ObjectReaders object_readers = {};

  /// The objects that the kernel reads by itself; null where it cannot.
  [[nodiscard]] cache::ObjectCache* passed_objects() const {
    return object_readers.kernel ? objects.get() : nullptr;
  }
  /// The objects that programs read past FUSE; null where they cannot.
  [[nodiscard]] cache::ObjectCache* attached_objects() const {
    return object_readers.programs ? objects.get() : nullptr;
  }
};

/// Takes cache.size bytes of memory, near the RDMA device where there is one, registers them with
/// the fabric, and builds the caches over them. Borrows everything but the config.
/// @param source   what the caches fill themselves from
/// @param readers  of whole objects
/// Errors: those of memory::Arena::create.
[[nodiscard]] Result<Caches> build_caches(const config::MountConfig& config, rdma::Fabric& fabric,
                                          s3::ObjectStore& source, const Clock& clock,
                                          metrics::Registry& metrics, ObjectReaders readers);

/// cache.lock, as memory/ takes it.
[[nodiscard]] memory::MemoryLock memory_lock(config::CacheLock lock);

}  // namespace s3rdmafs::daemon
