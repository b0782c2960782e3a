// SPDX-License-Identifier: Apache-2.0
// A bucket has no size. The answer is made up. It is never zero, since installers and `df` refuse a
// disk of no size, and it never waits for the network, so `df` cannot hang.
#include "fuse/ops/ops.h"
#include "fuse/reply.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {

void statfs(fuse_req_t request, fuse_ino_t ino) noexcept {
  const bool is_writable = context_of(request).file_system_of(ino).is_writable();
  constexpr std::uint64_t kShownBytes = 1024 * kTiB;
  constexpr unsigned kBlockBytes = 4096;
  struct statvfs statistics{};
  statistics.f_bsize = kBlockBytes;
  statistics.f_frsize = kBlockBytes;
  statistics.f_blocks = kShownBytes / kBlockBytes;
  statistics.f_files = std::uint64_t{1} << 32;
  statistics.f_namemax = 255;
  if (is_writable) {  // programs look for free space before they write
    statistics.f_bfree = statistics.f_bavail = statistics.f_blocks;
    statistics.f_ffree = statistics.f_favail = statistics.f_files;
  }
  Reply(request, Opcode::kOther).statfs(statistics);
}

}  // namespace s3rdmafs::fuse::ops
