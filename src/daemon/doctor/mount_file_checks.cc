// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/resource.h>

#include <algorithm>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/machine_facts.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

class MountFileCheck final : public Check {
 public:
  std::string_view name() const override { return "mount file"; }
  Finding run(Context& context) override {
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
        warnings.empty() ? Level::kPass : Level::kNote, context.file + " is right" + warnings, {}};
  }
};

class LockedMemoryCheck final : public Check {
 public:
  std::string_view name() const override { return "locked memory"; }
  std::string_view needs() const override { return "mount file"; }
  Finding run(Context& context) override {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    const auto& cache = context.config().cache;
    if (cache.lock == config::CacheLock::kOff) {
      return {Level::kNote, "cache.lock is \"off\"", {}};
    }
    return judge_locked_memory(limit.rlim_cur, has_capability(CAP_IPC_LOCK), cache.size_bytes,
                               cache.lock == config::CacheLock::kRequire);
  }
};

}  // namespace

Finding judge_locked_memory(std::uint64_t limit_bytes, bool may_exceed, std::uint64_t cache_bytes,
                            bool is_required) {
  if (may_exceed) return {Level::kPass, "unlimited by CAP_IPC_LOCK", {}};
  const std::string limit = limit_bytes == RLIM_INFINITY ? "unlimited" : format_size(limit_bytes);
  const std::string seen =
      fmt::format("the limit is {}, the cache has {}", limit, format_size(cache_bytes));
  if (limit_bytes >= cache_bytes) return {Level::kPass, seen, {}};
  return {is_required ? Level::kFail : Level::kDegraded,
          "the locked-memory limit is too small: " + seen,
          "raise it (ulimit -l, LimitMEMLOCK= in the unit) or lower cache.size"};
}

void add_mount_file_checks(Checks& checks) {
  checks.push_back(std::make_unique<MountFileCheck>());
  checks.push_back(std::make_unique<LockedMemoryCheck>());
}

}  // namespace s3rdmafs::daemon::doctor
