// SPDX-License-Identifier: Apache-2.0
// INIT: what the mount asks of the kernel. Splice costs more than it saves. Automatic invalidation
// would drop the page cache for nothing, since an inode here is one immutable version. Read-ahead
// depends on asynchronous reads. The writeback cache would write in an order of its own, which an
// object cannot take.
#include <unistd.h>

#include <algorithm>

#include "fuse/kernel/kernel_settings.h"
#include "fuse/kernel/ring.h"
#include "fuse/ops/ops.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {
namespace {

// Logs what the kernel grants and exports it as metrics.
void report(MountContext& mount, const fuse_conn_info& connection) {
  const unsigned background = background_granted(connection.max_background);
  mount.metrics.gauge("fuse_request_bytes_max", "Largest read or write request, in bytes")
      .set(connection.max_write);
  mount.metrics
      .gauge("fuse_background_max",
             "Limit of background requests (read-ahead, asynchronous I/O) under way")
      .set(background);
  const std::string_view transport =
      mount.over_ring && (connection.want_ext & FUSE_CAP_OVER_IO_URING) != 0 ? "uring" : "dev";
  mount.metrics
      .gauge("fuse_transport", "Transport of requests; always 1",
             fmt::format("transport=\"{}\"", transport))
      .set(1);
  log::info("fuse: protocol {}.{} over {}, requests up to {}, direct I/O with mmap {}",
            connection.proto_major, connection.proto_minor, transport,
            format_size(connection.max_write),
            mount.direct_io_allows_mmap ? "yes" : "no (needs Linux 6.6)");
  if (!mount.over_ring && connection.max_write < kRequestBytesMax) {
    log::info(
        "fuse: requests of {} unavailable: fs.fuse.max_pages_limit below {} (needs Linux 6.13); "
        "direct reads cost more CPU",
        format_size(kRequestBytesMax),
        kRequestBytesMax / static_cast<unsigned>(::sysconf(_SC_PAGESIZE)));
  }
  if (background < connection.max_background) {
    log::warn(
        "fuse: background requests limited to {} instead of {}: max_user_bgreq; mount as root, or "
        "raise /sys/module/fuse/parameters/max_user_bgreq",
        background, connection.max_background);
  }
}

// The files that the kernel reads and writes itself lie on a tmpfs, which is not stacked on another
// file system, so another file system may be stacked on this one.
bool take_passthrough(fuse_conn_info* connection) {
  connection->max_backing_stack_depth = FUSE_BACKING_STACKED_UNDER;
  const bool taken = fuse_set_feature_flag(connection, FUSE_CAP_PASSTHROUGH);
  if (!taken) {
    log::warn("fuse: passthrough unavailable: needs Linux 6.9 with CONFIG_FUSE_PASSTHROUGH");
  }
  return taken;
}

}  // namespace

void init(void* context, fuse_conn_info* connection) noexcept {
  auto& mount = *static_cast<MountContext*>(context);
  for (const std::uint64_t wanted :
       {FUSE_CAP_ASYNC_READ, FUSE_CAP_ASYNC_DIO, FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_READDIRPLUS,
        FUSE_CAP_EXPLICIT_INVAL_DATA, FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_HANDLE_KILLPRIV_V2}) {
    fuse_set_feature_flag(connection, wanted);
  }
  for (const std::uint64_t unwanted :
       {FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_AUTO_INVAL_DATA,
        FUSE_CAP_WRITEBACK_CACHE}) {
    fuse_unset_feature_flag(connection, unwanted);
  }
  // A listing gives the inode of each entry, whether or not one was looked up before: the page of
  // keys has cost far more, and each lookup of a file that is opened later costs ten times as much.
  // Where an entry costs a request of its own, only a program that asks for attributes gets them.
  if (mount.any(&vfs::FileSystem::shows_posix)) {
    fuse_set_feature_flag(connection, FUSE_CAP_READDIRPLUS_AUTO);
  } else {
    fuse_unset_feature_flag(connection, FUSE_CAP_READDIRPLUS_AUTO);
  }
  mount.direct_io_allows_mmap = fuse_set_feature_flag(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);

  const bool wants_reads = mount.any(&vfs::FileSystem::has_whole_objects);
  const bool wants_writes = mount.any(&vfs::FileSystem::may_pass_writes);
  const bool has_passthrough = (wants_reads || wants_writes) && take_passthrough(connection);
  mount.passes_through = has_passthrough && wants_reads;
  mount.passes_writes = has_passthrough && wants_writes;

  connection->max_background = kBackgroundMax;
  connection->congestion_threshold = kBackgroundMax * 3 / 4;
  connection->max_write = request_bytes_granted();  // sets the largest read too
  if (mount.over_ring)
    connection->max_write = std::min(connection->max_write, kRingRequestBytesMax);
  report(mount, *connection);
}

}  // namespace s3rdmafs::fuse::ops
