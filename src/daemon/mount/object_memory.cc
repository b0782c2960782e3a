// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/object_memory.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "memory/arena.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

bool kernel_may_pass_through() {
  utsname name{};
  if (::uname(&name) != 0) return false;
  unsigned major = 0;
  unsigned minor = 0;
  if (std::sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 9);
}

}  // namespace

ObjectReaders object_readers(bool may_write) {
  return {.kernel = kernel_may_pass_through(), .programs = !may_write};
}

CacheShares share_cache(const config::MountConfig::Cache& cache, ObjectReaders readers) {
  constexpr std::uint64_t kSlab = memory::Arena::kSlabBytes;
  CacheShares shares{.blocks_bytes = cache.size_bytes, .objects = {}};
  const std::uint64_t spare_bytes = cache.size_bytes - config::kBlocksBytesMin;
  const std::uint64_t wanted_bytes =
      round_up(std::min(cache.resident_bytes.value_or(cache.size_bytes / 2), spare_bytes), kSlab);
  if (cache.passthrough_max_bytes == 0 || wanted_bytes == 0) return shares;
  if (!readers.kernel && !readers.programs) {
    log::info("cache: no whole objects: passthrough needs Linux 6.9, and the mount may write");
    return shares;
  }
  auto tmpfs = memory::HugeTmpfs::mount(wanted_bytes);
  if (!tmpfs) {
    log::info("cache: no whole objects: they need CAP_SYS_ADMIN ({})", tmpfs.error().detail);
    return shares;
  }
  log::info("cache: up to {} of {} for whole objects", format_size(wanted_bytes),
            format_size(cache.size_bytes));
  shares.blocks_bytes -= wanted_bytes;
  shares.objects_bytes = wanted_bytes;
  shares.objects = std::move(*tmpfs);
  return shares;
}

std::size_t object_files_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur / 2;
}

}  // namespace s3rdmafs::daemon
