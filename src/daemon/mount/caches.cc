// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/caches.h"

#include <utility>

#include "daemon/mount/process/numa_node.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

// Two files of 64 MiB for each of two programs that read one after another.
constexpr std::uint64_t kSpareBytesMax = 256 * kMiB;

}  // namespace

memory::MemoryLock memory_lock(config::CacheLock lock) {
  switch (lock) {
    case config::CacheLock::kOff:
      return memory::MemoryLock::kOff;
    case config::CacheLock::kTry:
      return memory::MemoryLock::kTry;
    case config::CacheLock::kRequire:
      break;
  }
  return memory::MemoryLock::kRequire;
}

Result<Caches> build_caches(const config::MountConfig& config, rdma::Fabric& fabric,
                            s3::ObjectStore& source, const Clock& clock, metrics::Registry& metrics,
                            ObjectReaders readers) {
  const PreferNode near_the_device(node_of_devices(fabric.name(), config.rdma.rails));
  CacheShares shares = share_cache(config.cache, readers);
  Caches caches;
  caches.object_readers = readers;
  auto made = memory::Arena::create(shares.blocks_bytes, memory_lock(config.cache.lock), fabric,
                                    {.budget_bytes = config.cache.size_bytes});
  if (!made) return std::unexpected(made.error());
  caches.arena = std::move(*made);
  if (!caches.arena->has_huge_pages()) {
    log::warn("cache: no huge pages: {}; reads are slower, nothing else changes",
              caches.arena->note());
  }
  caches.blocks = std::make_unique<cache::BlockCache>(
      *caches.arena, source, clock, metrics,
      cache::BlockCache::Options{.read_ahead_max_bytes = config.read_ahead.window_max_bytes,
                                 .fill_deadline = config.retry.deadline});
  if (!shares.objects) return caches;
  const auto files = std::make_shared<const memory::HugeTmpfs>(std::move(*shares.objects));
  caches.objects = std::make_unique<cache::ObjectCache>(
      [files] { return files->make_file(); }, source, fabric, clock, metrics,
      cache::ObjectCache::Options{
          .limits = {.bytes_max = shares.objects_bytes, .files_max = object_files_max()},
          .object_bytes_min = kPassthroughFromBytes,
          .object_bytes_max = config.cache.passthrough_max_bytes,
          .spare_bytes_max = kSpareBytesMax,
          .lock = memory_lock(config.cache.lock)});
  return caches;
}

}  // namespace s3rdmafs::daemon
