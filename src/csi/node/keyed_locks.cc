// SPDX-License-Identifier: Apache-2.0
#include "csi/node/keyed_locks.h"

#include <fmt/format.h>

namespace s3rdmafs::csi {

Result<KeyedLocks::Lease> KeyedLocks::take(const std::string& name, const Clock& clock,
                                           Deadline deadline) {
  const MutexLock lock(mutex_);
  while (held_.contains(name)) {
    if (!clock.wait_until(given_back_, mutex_, deadline) && held_.contains(name)) {
      return fail(ErrorCode::kBusy,
                  fmt::format("another call for {} has not ended; try again", name));
    }
  }
  held_.insert(name);
  return Lease(*this, name);
}

void KeyedLocks::give_back(const std::string& name) {
  const MutexLock lock(mutex_);
  held_.erase(name);
  given_back_.notify_all();
}

}  // namespace s3rdmafs::csi
