// SPDX-License-Identifier: Apache-2.0
// INIT: what we ask of the kernel. Each choice was measured (shared notes on FUSE performance):
// splice costs more than it saves, automatic invalidation drops the page cache for nothing since an
// inode here is one immutable version, and asynchronous reads are what read-ahead lives on. The
// writeback cache would write in an order of its own, which an object cannot take.
#include <algorithm>

#include "fuse/ops/ops.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {

namespace {

// The kernel's own reads of files of ours. Those lie on a tmpfs, which is stacked on nothing, so
// that another file system may be stacked on this one.
bool take_passthrough(const MountContext& mount, fuse_conn_info* connection) {
  if (!mount.file_system.has_whole_objects()) return false;
  connection->max_backing_stack_depth = FUSE_BACKING_STACKED_UNDER;
  const bool taken = fuse_set_feature_flag(connection, FUSE_CAP_PASSTHROUGH);
  if (!taken) spdlog::warn("fuse: no passthrough: Linux 6.9 and CONFIG_FUSE_PASSTHROUGH have it");
  return taken;
}

}  // namespace

void init(void* context, fuse_conn_info* connection) noexcept {
  auto& mount = *static_cast<MountContext*>(context);
  for (const std::uint64_t wanted :
       {FUSE_CAP_ASYNC_READ, FUSE_CAP_ASYNC_DIO, FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_READDIRPLUS,
        FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_EXPLICIT_INVAL_DATA, FUSE_CAP_ATOMIC_O_TRUNC}) {
    fuse_set_feature_flag(connection, wanted);
  }
  for (const std::uint64_t unwanted :
       {FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_AUTO_INVAL_DATA,
        FUSE_CAP_WRITEBACK_CACHE}) {
    fuse_unset_feature_flag(connection, unwanted);
  }
  mount.direct_io_allows_mmap = fuse_set_feature_flag(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);

  mount.passes_through = take_passthrough(mount, connection);

  // Read-ahead of the kernel's is background work; its default of 12 requests starves it.
  constexpr unsigned kMaxBackground = 128;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kMaxBackground * 3 / 4;
  // Sets the largest read too. 4 MiB is the sweet spot where fs.fuse.max_pages_limit allows it, and
  // the most that one read of the cache may be (cache::ObjectReader::read).
  constexpr unsigned kLargestRequestBytes = 4 * kMiB;
  connection->max_write = std::min(connection->max_write, kLargestRequestBytes);
  spdlog::info("fuse: protocol {}.{}, requests up to {}, direct I/O with mmap {}",
               connection->proto_major, connection->proto_minor, format_size(connection->max_write),
               mount.direct_io_allows_mmap ? "yes" : "no (Linux 6.6 has it)");
}

}  // namespace s3rdmafs::fuse::ops
