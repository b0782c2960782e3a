// SPDX-License-Identifier: Apache-2.0
// "auto" is /dev/fuse, also where rings are to be had: over them small requests cost half, but the
// bytes of large reads are copied twice, and large reads are what most mounts are for. The numbers
// are in src/README.md, "Decisions".
#include "daemon/mount/choose_transport.h"

#include "fuse/ring.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

Result<bool> choose_ring(config::Transport wish) {
  if (wish == config::Transport::kDev) return false;
  const fuse::UringBlocker hindrance = fuse::find_ring_hindrance();
  if (wish == config::Transport::kUring) {
    if (hindrance.reason.empty()) return true;
    return fail(ErrorCode::kUnsupported,
                fmt::format("mount.transport = \"uring\": {}; {}, or set it to \"auto\"",
                            hindrance.reason, hindrance.advice));
  }
  spdlog::info(
      "fuse: requests come through /dev/fuse; for many small files and reads, mount.transport = "
      "\"uring\" is up to twice as fast{}",
      hindrance.reason.empty() ? std::string()
                               : fmt::format(" ({}: {})", hindrance.reason, hindrance.advice));
  return false;
}

}  // namespace s3rdmafs::daemon
