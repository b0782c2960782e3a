// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::csi {

/// Locks with names: one caller at a time works on a volume, or on a mount. Thread-safe.
class KeyedLocks {
 public:
  /// Holds one name; gives it back at its end. Movable.
  class Lease {
   public:
    Lease(KeyedLocks& owner, std::string name) : owner_(&owner), name_(std::move(name)) {}
    Lease(Lease&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), name_(std::move(other.name_)) {}
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (owner_ != nullptr) owner_->give_back(name_);
    }

   private:
    KeyedLocks* owner_;
    std::string name_;
  };

  /// Waits while another caller holds the name, until the deadline. Errors: kBusy.
  [[nodiscard]] Result<Lease> take(const std::string& name, const Clock& clock, Deadline deadline);

 private:
  void give_back(const std::string& name);

  Mutex mutex_;  // a leaf
  CondVar given_back_;
  std::set<std::string> held_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::csi
