// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/capabilities.h"

namespace s3rdmafs::s3 {

void Capabilities::on_parts_refused() {
  const MutexLock lock(mutex_);
  refuses_parts_ = true;
}

void Capabilities::on_whole_puts_refused(std::chrono::seconds how_long) {
  const MutexLock lock(mutex_);
  whole_puts_refused_until_ = clock_.now() + how_long;
}

bool Capabilities::should_probe_whole_puts() const {
  if (is_known_to_read() || has_unconfirmed_put() || refuses_whole_puts()) return false;
  const MutexLock lock(mutex_);
  return refuses_parts_;
}

bool Capabilities::refuses_whole_puts() const {
  const MutexLock lock(mutex_);
  return whole_puts_refused_until_ && clock_.now() < *whole_puts_refused_until_;
}

}  // namespace s3rdmafs::s3
