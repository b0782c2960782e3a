// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::target {

/// The resources of this process that clients of the shm service hold.
struct ShmHoldings {
  std::uint64_t sessions = 0;  ///< a thread each
  std::uint64_t regions = 0;   ///< a mapping each
  std::uint64_t bytes = 0;     ///< of address space, whether or not they have pages
};

/// The most that may be held.
struct ShmLimits {
  ShmHoldings each_user;
  ShmHoldings all_users;
};

/// Limits that leave this process enough for itself. The kernel gives one process
/// `mappings_max` mappings (vm.max_map_count), of which its threads and its heap need some.
[[nodiscard]] ShmLimits shm_limits(std::uint64_t mappings_max);

/// The same for this host, whose vm.max_map_count is read.
[[nodiscard]] ShmLimits shm_limits_of_this_host();

/// Counts the resources that clients hold, so that no user can take those that the server or
/// another user needs. Thread-safe. Outlives its shares.
class ShmBudget {
 public:
  explicit ShmBudget(const ShmLimits& limits) : limits_(limits) {}
  ShmBudget(const ShmBudget&) = delete;
  ShmBudget& operator=(const ShmBudget&) = delete;
  ~ShmBudget() = default;

  /// The share of one user; given back when destroyed. An empty one holds nothing.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), user_(other.user_), held_(other.held_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (budget_ != nullptr) budget_->give_back(user_, held_);
    }

   private:
    friend class ShmBudget;
    Share(ShmBudget& budget, uid_t user, const ShmHoldings& held)
        : budget_(&budget), user_(user), held_(held) {}

    ShmBudget* budget_ = nullptr;
    uid_t user_ = 0;
    ShmHoldings held_;
  };

  /// Takes all of `wanted`, or nothing.
  /// Errors: kNoMemory past a limit; the detail names the user, the limit and the excess.
  [[nodiscard]] Result<Share> take(uid_t user, const ShmHoldings& wanted);

 private:
  void give_back(uid_t user, const ShmHoldings& held);

  const ShmLimits limits_;
  Mutex mutex_;  // leaf
  ShmHoldings held_ GUARDED_BY(mutex_);
  std::map<uid_t, ShmHoldings> held_by_user_ GUARDED_BY(mutex_);  // none that holds nothing
};

}  // namespace s3rdmafs::target
