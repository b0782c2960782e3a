// SPDX-License-Identifier: Apache-2.0
#include "fuse/kernel/ring.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fuse {
namespace {

// Containers and sysctl kernel.io_uring_disabled refuse rings of any kind.
int try_io_uring() {
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_SQE128;  // as FUSE's must be
  const UniqueFd ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, &parameters)));
  return ring ? 0 : errno;
}

#ifdef S3RDMAFS_LIBFUSE_RING
constexpr bool kInThisBuild = true;
#else
constexpr bool kInThisBuild = false;
#endif

}  // namespace

UringBlocker judge_ring(bool in_this_build, const std::string& parameter, int io_uring_errno) {
  if (!in_this_build) {
    return {"this build's libfuse loses replies that other threads give over io_uring",
            "build s3rdmafs with the libfuse of tools/get-libfuse.sh"};
  }
  if (parameter.empty()) {
    return {"this kernel has no FUSE over io_uring",
            "use Linux 6.14 or later, built with CONFIG_FUSE_IO_URING"};
  }
  if (parameter != "Y" && parameter != "1") {
    return {
        "FUSE over io_uring is switched off",
        "as root: echo Y > /sys/module/fuse/parameters/enable_uring; to keep it, write \"options "
        "fuse enable_uring=Y\" to /etc/modprobe.d/fuse.conf"};
  }
  if (io_uring_errno != 0) {
    return {std::string("io_uring is refused: ") + std::strerror(io_uring_errno),
            "as root: sysctl kernel.io_uring_disabled=0; in a container allow io_uring_setup(2)"};
  }
  return {};
}

UringBlocker find_uring_blocker() {
  std::ifstream file("/sys/module/fuse/parameters/enable_uring");
  std::string parameter;
  std::getline(file, parameter);
  return judge_ring(kInThisBuild, parameter, try_io_uring());
}

unsigned ring_depth(unsigned processors) {
  // 32 reads of a processor can wait for the network before its next read waits for them; fewer
  // where that would take more than 256 MiB of buffers. Four still overlap.
  constexpr unsigned kDepthMin = 4;
  constexpr unsigned kDepthMax = 32;
  constexpr unsigned kMemoryMaxBytes = 256U << 20;
  return std::clamp(kMemoryMaxBytes / kRingRequestBytesMax / std::max(processors, 1U), kDepthMin,
                    kDepthMax);
}

unsigned ring_depth() { return ring_depth(static_cast<unsigned>(::get_nprocs_conf())); }

}  // namespace s3rdmafs::fuse
