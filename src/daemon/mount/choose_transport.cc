// SPDX-License-Identifier: Apache-2.0
// "auto" is /dev/fuse, even where io_uring is available: rings halve the cost of small requests,
// but copy the bytes of large reads twice, and most mounts serve large reads.
#include "daemon/mount/choose_transport.h"

#include "fuse/ring.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

Result<bool> choose_ring(config::Transport wish) {
  if (wish == config::Transport::kDev) return false;
  const fuse::UringBlocker hindrance = fuse::find_uring_blocker();
  if (wish == config::Transport::kUring) {
    if (hindrance.reason.empty()) return true;
    return fail(ErrorCode::kUnsupported,
                fmt::format("mount.transport = \"uring\": {}; {}, or set it to \"auto\"",
                            hindrance.reason, hindrance.advice));
  }
  spdlog::info(
      "fuse: requests come through /dev/fuse; mount.transport = \"uring\" is up to twice as fast "
      "for many small files and reads{}",
      hindrance.reason.empty() ? std::string()
                               : fmt::format(" ({}: {})", hindrance.reason, hindrance.advice));
  return false;
}

}  // namespace s3rdmafs::daemon
