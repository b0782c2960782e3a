// SPDX-License-Identifier: Apache-2.0
// "auto" is /dev/fuse, even where io_uring is available: rings halve the cost of small requests,
// but copy the bytes of large reads twice, and most mounts serve large reads.
#include "daemon/mount/choose_transport.h"

#include "fuse/kernel/ring.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

Result<bool> choose_ring(config::Transport wish) {
  if (wish == config::Transport::kDev) return false;
  const fuse::UringBlocker blocker = fuse::find_uring_blocker();
  if (wish == config::Transport::kUring) {
    if (blocker.reason.empty()) return true;
    return fail(ErrorCode::kUnsupported,
                fmt::format("mount.transport = \"uring\": {}; {}, or set it to \"auto\"",
                            blocker.reason, blocker.advice));
  }
  log::info(
      "fuse: requests come through /dev/fuse; mount.transport = \"uring\" is up to twice as fast "
      "for opens, and small reads of what is cached{}",
      blocker.reason.empty() ? std::string()
                             : fmt::format(" ({}: {})", blocker.reason, blocker.advice));
  return false;
}

}  // namespace s3rdmafs::daemon
