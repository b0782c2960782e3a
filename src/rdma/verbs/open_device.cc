// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/open_device.h"

#include <sys/resource.h>

#include "rdma/loader/loaded_library.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// The kernel answers ENOMEM for the limit, which is the usual cause, and for too little memory; it
// answers EPERM where the limit is zero.
std::unexpected<Error> fail_registration(std::size_t bytes, int error) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool is_limited = limit.rlim_cur != RLIM_INFINITY;
  if (error != ENOMEM && !(error == EPERM && is_limited)) {
    return fail_errno(fmt::format("register {}", format_size(bytes)), error);
  }
  if (!is_limited) {
    return fail(ErrorCode::kNoMemory, fmt::format("register {}: out of memory, or of the device's "
                                                  "memory regions",
                                                  format_size(bytes)));
  }
  return fail(ErrorCode::kNoMemory,
              fmt::format("register {}: the limit on locked memory is {}; raise it (ulimit -l "
                          "unlimited, LimitMEMLOCK=infinity in a systemd unit), or make cache.size "
                          "smaller",
                          format_size(bytes), format_size(limit.rlim_cur)));
}

unsigned access_flags(Access access) {
  // The verbs require local write beside remote write.
  if (access == Access::kRemoteWrite) return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  return IBV_ACCESS_REMOTE_READ;
}

}  // namespace

Result<DeviceList> device_list() {
  DeviceList list(ibv_get_device_list(nullptr));
  if (!list && errno == ELIBACC) {
    return fail(ErrorCode::kUnsupported, loader::verbs_library().fault());
  }
  if (!list) return fail_errno("list RDMA devices", errno);
  return list;
}

Result<Context> open_device(const std::string& name) {
  Result<DeviceList> list = device_list();
  if (!list) return std::unexpected(std::move(list.error()));
  std::string others;
  for (ibv_device** device = list->get(); *device != nullptr; ++device) {
    const std::string found = ibv_get_device_name(*device);
    if (found == name) {
      Context context(ibv_open_device(*device));
      if (!context) return fail_errno("open " + name, errno);
      return context;
    }
    others += (others.empty() ? "" : ", ") + found;
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no RDMA device {}; this machine has {}",
                                                name, others.empty() ? "none" : others));
}

Result<Registration> register_memory(ibv_pd* domain, std::span<std::byte> bytes, std::uint64_t iova,
                                     Access access) {
  Registration region(
      ibv_reg_mr_iova(domain, bytes.data(), bytes.size(), iova, access_flags(access)));
  if (region) return region;
  return fail_registration(bytes.size(), errno);
}

}  // namespace s3rdmafs::rdma::verbs
