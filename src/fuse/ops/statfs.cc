// SPDX-License-Identifier: Apache-2.0
// A bucket has no size. The answer is made up, but never zero, since installers and `df` refuse to
// look at an empty disk; and it never asks the network, so `df` cannot hang.
#include "fuse/ops/ops.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {

void statfs(fuse_req_t request, fuse_ino_t) noexcept {
  constexpr std::uint64_t kShownBytes = 1024 * kTiB;
  constexpr unsigned kBlockBytes = 4096;
  struct statvfs statistics{};
  statistics.f_bsize = kBlockBytes;
  statistics.f_frsize = kBlockBytes;
  statistics.f_blocks = kShownBytes / kBlockBytes;
  statistics.f_files = std::uint64_t{1} << 32;
  statistics.f_namemax = 255;
  Reply(request).statfs(statistics);  // nothing free: the mount is read-only
}

}  // namespace s3rdmafs::fuse::ops
