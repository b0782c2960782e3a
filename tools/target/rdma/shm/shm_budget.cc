// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/shm/shm_budget.h"

#include <fstream>
#include <string>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

// The kernel's default of vm.max_map_count.
constexpr std::uint64_t kUsualMappingsMax = 65'530;

// A mount has one session with each endpoint, and a host has a mount for each rank of a job at
// most.
constexpr std::uint64_t kSessionsOfAll = 512;

// A process has 128 TiB of addresses. A quarter is more memory than any host has.
constexpr std::uint64_t kBytesOfAll = 32 * kTiB;

/// Empty, or which of `wanted` does not fit beside `held`.
std::string excess(const ShmHoldings& held, const ShmHoldings& wanted, const ShmHoldings& limit) {
  const auto fits = [](std::uint64_t have, std::uint64_t more, std::uint64_t most) {
    return have <= most && more <= most - have;  // `more` is what a client says: it may be anything
  };
  if (!fits(held.sessions, wanted.sessions, limit.sessions)) {
    return fmt::format("{} sessions", limit.sessions);
  }
  if (!fits(held.regions, wanted.regions, limit.regions)) {
    return fmt::format("{} regions", limit.regions);
  }
  if (!fits(held.bytes, wanted.bytes, limit.bytes)) {
    return fmt::format("{} bytes", limit.bytes);
  }
  return "";
}

void add(ShmHoldings& to, const ShmHoldings& more) {
  to.sessions += more.sessions;
  to.regions += more.regions;
  to.bytes += more.bytes;
}

void subtract(ShmHoldings& from, const ShmHoldings& less) {
  from.sessions -= less.sessions;
  from.regions -= less.regions;
  from.bytes -= less.bytes;
}

bool is_nothing(const ShmHoldings& held) {
  return held.sessions == 0 && held.regions == 0 && held.bytes == 0;
}

}  // namespace

ShmLimits shm_limits(std::uint64_t mappings_max) {
  // Three eighths are left to the threads of HTTP connections, which have two mappings each.
  const ShmHoldings all{
      .sessions = kSessionsOfAll, .regions = mappings_max / 8 * 5, .bytes = kBytesOfAll};
  // One user is the usual case and gets most; a second one still gets in.
  const auto most_of = [](std::uint64_t amount) { return amount / 4 * 3; };
  return {.each_user = {.sessions = most_of(all.sessions),
                        .regions = most_of(all.regions),
                        .bytes = most_of(all.bytes)},
          .all_users = all};
}

ShmLimits shm_limits_of_this_host() {
  std::uint64_t mappings_max = 0;
  std::ifstream file("/proc/sys/vm/max_map_count");
  if (!(file >> mappings_max)) mappings_max = kUsualMappingsMax;
  return shm_limits(mappings_max);
}

Result<ShmBudget::Share> ShmBudget::take(uid_t user, const ShmHoldings& wanted) {
  const MutexLock lock(mutex_);
  const auto found = held_by_user_.find(user);
  const ShmHoldings held = found == held_by_user_.end() ? ShmHoldings{} : found->second;
  if (const std::string most = excess(held, wanted, limits_.each_user); !most.empty()) {
    return fail(ErrorCode::kNoMemory, fmt::format("user {} may hold {} at most", user, most));
  }
  if (const std::string most = excess(held_, wanted, limits_.all_users); !most.empty()) {
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("user {} wants more, and all users together may hold {} at most", user, most));
  }
  add(held_by_user_[user], wanted);
  add(held_, wanted);
  return Share(*this, user, wanted);
}

void ShmBudget::give_back(uid_t user, const ShmHoldings& held) {
  const MutexLock lock(mutex_);
  subtract(held_, held);
  const auto found = held_by_user_.find(user);
  subtract(found->second, held);
  if (is_nothing(found->second)) held_by_user_.erase(found);
}

}  // namespace s3rdmafs::target
