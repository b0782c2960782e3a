// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "disk/cache_folder.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

Finding check_mount_file(Context& context) {
  auto loaded = config::load_mount_config(context.file, context.environment);
  if (!loaded) {
    std::string faults = loaded.error().detail;
    std::ranges::replace(faults, '\n', ';');
    return {Level::kFail, faults, "correct it; s3rdmafs.toml(5) explains each key"};
  }
  std::string warnings;
  for (const std::string& warning : loaded->warnings) warnings += "; " + warning;
  context.loaded = std::move(*loaded);
  return {
      warnings.empty() ? Level::kPass : Level::kNote, context.file + " is valid" + warnings, {}};
}

Finding check_locked_memory(Context& context) {
  const auto& cache = context.config().cache;
  if (cache.lock == config::CacheLock::kOff) {
    return {Level::kNote, "cache.lock is \"off\"", {}};
  }
  return judge_locked_memory(context.machine->locked_memory_limit_bytes(),
                             context.machine->has_capability(CAP_IPC_LOCK), cache.size_bytes,
                             cache.lock == config::CacheLock::kRequire);
}

Finding check_disk_cache(Context& context) { return judge_disk_cache(context.config().disk); }

}  // namespace

Finding judge_disk_cache(const config::MountConfig::Disk& disk) {
  if (disk.path.empty()) return {Level::kPass, "not configured", {}};
  const auto folder = disk::CacheFolder::look_at(disk.path);
  if (!folder) {
    const Error& error = folder.error();
    if (error.code == ErrorCode::kNotFound) {
      const std::string parent = std::filesystem::path(disk.path).parent_path();
      if (::access(parent.c_str(), W_OK | X_OK) == 0) {
        return {Level::kPass, disk.path + " will be created", {}};
      }
      return {Level::kFail, parent + " does not exist or is not writable", "create " + disk.path};
    }
    if (error.code == ErrorCode::kBusy) return {Level::kNote, error.detail, {}};
    return {Level::kFail, error.detail, "correct it, or set disk.path to another folder"};
  }
  const auto free_bytes = folder->free_bytes();
  if (!free_bytes) return {Level::kFail, free_bytes.error().detail, {}};
  const std::uint64_t spare_bytes =
      *free_bytes > disk.reserve_bytes ? *free_bytes - disk.reserve_bytes : 0;
  const std::string seen =
      fmt::format("{} has {} MiB free, of which disk.reserve keeps {}", disk.path,
                  *free_bytes / kMiB, format_size(disk.reserve_bytes));
  if (spare_bytes > 0) return {Level::kPass, seen, {}};
  return {Level::kDegraded, seen + ": no room is left for the cache",
          "free space, lower disk.reserve, or use another disk"};
}

Finding judge_locked_memory(std::uint64_t limit_bytes, bool may_exceed, std::uint64_t cache_bytes,
                            bool is_required) {
  if (may_exceed) return {Level::kPass, "unlimited by CAP_IPC_LOCK", {}};
  const std::string limit = limit_bytes == RLIM_INFINITY ? "unlimited" : format_size(limit_bytes);
  const std::string seen =
      fmt::format("the limit is {}, cache.size is {}", limit, format_size(cache_bytes));
  if (limit_bytes >= cache_bytes) return {Level::kPass, seen, {}};
  return {is_required ? Level::kFail : Level::kDegraded,
          "the locked-memory limit is too small: " + seen,
          "raise it (ulimit -l, LimitMEMLOCK= in the unit) or lower cache.size"};
}

void add_mount_file_checks(Checks& checks) {
  checks.insert(checks.end(), {{"mount file", "", check_mount_file},
                               {"locked memory", "mount file", check_locked_memory},
                               {"disk cache", "mount file", check_disk_cache}});
}

}  // namespace s3rdmafs::daemon::doctor
