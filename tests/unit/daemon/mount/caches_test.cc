// SPDX-License-Identifier: Apache-2.0
// How cache.size is divided, and what is built over it.
#include "daemon/mount/caches.h"

#include <gtest/gtest.h>

#include "daemon/mount/object_memory.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::daemon {
namespace {

config::MountConfig with_cache(std::uint64_t passthrough_max_bytes) {
  config::MountConfig config;
  config.cache = {.size_bytes = 128 * kMiB,
                  .lock = config::CacheLock::kOff,
                  .resident_bytes = std::nullopt,
                  .passthrough_max_bytes = passthrough_max_bytes};
  config.retry.deadline = std::chrono::seconds(30);
  return config;
}

constexpr ObjectReaders kBoth{.kernel = true, .programs = true};
constexpr ObjectReaders kPrograms{.kernel = false, .programs = true};
constexpr ObjectReaders kNobody{};

TEST(CacheShares, AreTheWholeCacheTogether) {
  const CacheShares shares = share_cache(with_cache(8 * kMiB).cache, kBoth);
  EXPECT_EQ(shares.blocks_bytes + shares.objects_bytes, 128 * kMiB);
  EXPECT_EQ(shares.objects.has_value(), shares.objects_bytes > 0);
}

TEST(CacheShares, WithoutWholeObjectsBlocksHaveAll) {
  const CacheShares none = share_cache(with_cache(0).cache, kBoth);
  EXPECT_EQ(none.blocks_bytes, 128 * kMiB);
  config::MountConfig config = with_cache(8 * kMiB);
  config.cache.resident_bytes = 0;
  EXPECT_EQ(share_cache(config.cache, kBoth).blocks_bytes, 128 * kMiB);
}

TEST(CacheShares, OfAKernelWithoutPassthroughAreForProgramsPastFuseAlone) {
  const config::MountConfig config = with_cache(8 * kMiB);
  EXPECT_EQ(share_cache(config.cache, kNobody).blocks_bytes, 128 * kMiB);
  EXPECT_EQ(share_cache(config.cache, kPrograms).objects_bytes,
            share_cache(config.cache, kBoth).objects_bytes);
}

TEST(CacheShares, LeaveDescriptorsForOthers) { EXPECT_GT(object_files_max(), 0U); }

TEST(Caches, AreRegisteredWithTheFabricAndHaveWholeObjectsForThoseThatCanReadThem) {
  for (const ObjectReaders readers : {kNobody, kPrograms, kBoth}) {
    const config::MountConfig config = with_cache(8 * kMiB);
    const bool has_objects = share_cache(config.cache, readers).objects.has_value();
    const fakes::FakeClock clock;
    fakes::FakeFabric fabric;
    fakes::FakeObjectStore store(clock);
    metrics::Registry metrics;
    auto caches = build_caches(config, fabric, store, clock, metrics, readers);
    ASSERT_TRUE(caches) << caches.error().detail;
    EXPECT_GT(fabric.registrations(), 0);
    EXPECT_EQ(caches->objects != nullptr, has_objects);
    EXPECT_EQ(caches->attached_objects() != nullptr, has_objects);
    EXPECT_EQ(caches->passed_objects() != nullptr, has_objects && readers.kernel);
    store.shut_down();
    caches->blocks->shut_down();
    if (caches->objects) caches->objects->shut_down();
  }
}

TEST(Caches, MemoryIsLockedAsTheMountFileSays) {
  EXPECT_EQ(memory_lock(config::CacheLock::kOff), memory::MemoryLock::kOff);
  EXPECT_EQ(memory_lock(config::CacheLock::kTry), memory::MemoryLock::kTry);
  EXPECT_EQ(memory_lock(config::CacheLock::kRequire), memory::MemoryLock::kRequire);
}

}  // namespace
}  // namespace s3rdmafs::daemon
