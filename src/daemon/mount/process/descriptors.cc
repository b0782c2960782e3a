// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/descriptors.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  const rlimit wanted{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
  log::warn(
      "descriptors: raising the limit from {} to {} failed: {}; fewer objects and connections fit",
      limit.rlim_cur, limit.rlim_max, std::strerror(errno));
}

}  // namespace s3rdmafs::daemon
