// SPDX-License-Identifier: Apache-2.0
// INIT: what we ask of the kernel. Each choice was measured (shared notes on FUSE performance):
// splice costs more than it saves, automatic invalidation drops the page cache for nothing since an
// inode here is one immutable version, and asynchronous reads are what read-ahead lives on. The
// writeback cache would write in an order of its own, which an object cannot take.
#include <unistd.h>

#include <algorithm>

#include "fuse/kernel_settings.h"
#include "fuse/ops/ops.h"
#include "fuse/ring.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fuse::ops {
namespace {

// What was asked for and what the kernel grants, to the log and to the numbers of the mount.
void report(MountContext& mount, const fuse_conn_info& connection) {
  const unsigned background = background_granted(connection.max_background);
  mount.metrics.gauge("fuse_request_bytes_max", "Largest read or write that the kernel asks for")
      .set(connection.max_write);
  mount.metrics
      .gauge("fuse_background_max", "Requests that nobody waits for, at most under way at once")
      .set(background);
  const std::string_view transport =
      mount.over_ring && (connection.want_ext & FUSE_CAP_OVER_IO_URING) != 0 ? "uring" : "dev";
  mount.metrics
      .gauge("fuse_transport", "How requests come, always 1",
             fmt::format("transport=\"{}\"", transport))
      .set(1);
  spdlog::info("fuse: protocol {}.{} over {}, requests up to {}, direct I/O with mmap {}",
               connection.proto_major, connection.proto_minor, transport,
               format_size(connection.max_write),
               mount.direct_io_allows_mmap ? "yes" : "no (Linux 6.6 has it)");
  if (!mount.over_ring && connection.max_write < kRequestBytesMax) {
    spdlog::info(
        "fuse: large direct reads would cost less by requests of {} (sysctl "
        "fs.fuse.max_pages_limit={}, Linux 6.13)",
        format_size(kRequestBytesMax),
        kRequestBytesMax / static_cast<unsigned>(::sysconf(_SC_PAGESIZE)));
  }
  if (background < connection.max_background) {
    spdlog::warn(
        "fuse: the kernel keeps at most {} of its own requests under way, not {}: mount as root, "
        "or raise /sys/module/fuse/parameters/max_user_bgreq",
        background, connection.max_background);
  }
}

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
        FUSE_CAP_EXPLICIT_INVAL_DATA, FUSE_CAP_ATOMIC_O_TRUNC}) {
    fuse_set_feature_flag(connection, wanted);
  }
  for (const std::uint64_t unwanted :
       {FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_AUTO_INVAL_DATA,
        FUSE_CAP_WRITEBACK_CACHE}) {
    fuse_unset_feature_flag(connection, unwanted);
  }
  // With each entry of a listing its inode, whether somebody looked one up before or not: the page
  // of keys has cost far more, and each lookup of a file that is opened later costs ten times as
  // much. Not where the kernel may not keep names (vfs::Entry::valid_for): it would look up anyway.
  if (mount.file_system.is_writable()) {
    fuse_set_feature_flag(connection, FUSE_CAP_READDIRPLUS_AUTO);
  } else {
    fuse_unset_feature_flag(connection, FUSE_CAP_READDIRPLUS_AUTO);
  }
  mount.direct_io_allows_mmap = fuse_set_feature_flag(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);

  mount.passes_through = take_passthrough(mount, connection);

  connection->max_background = kBackgroundMax;
  connection->congestion_threshold = kBackgroundMax * 3 / 4;
  connection->max_write = request_bytes_granted();  // sets the largest read too
  if (mount.over_ring)
    connection->max_write = std::min(connection->max_write, kRingRequestBytesMax);
  report(mount, *connection);
}

}  // namespace s3rdmafs::fuse::ops
