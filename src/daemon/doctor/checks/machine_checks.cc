// SPDX-License-Identifier: Apache-2.0
// The machine itself: kernel, FUSE, memory and RDMA devices, without a mount file.
#include <linux/capability.h>

#include <cstdio>
#include <utility>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "fuse/lowlevel.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

Finding check_kernel(Context& context) {
  Finding finding = judge_kernel(context.machine->kernel_release());
  const std::string pages = first_line("/proc/sys/fs/fuse/max_pages_limit");
  finding.seen += fmt::format("; requests of at most {} pages", pages.empty() ? "256" : pages);
  return finding;
}

Finding check_fuse_device(Context& context) {
  const auto opened = context.machine->open_fuse_device();
  if (opened) return {Level::kPass, "/dev/fuse can be opened", {}};
  const Error& error = opened.error();
  return {Level::kFail, std::string(error.problem()), error.advice};
}

// No mount needs io_uring, so its absence is a note at most.
Finding check_uring(Context& context) {
  const fuse::UringBlocker blocker = context.machine->uring_blocker();
  if (blocker.reason.empty()) {
    return {Level::kPass, "available by mount.transport = \"uring\"", {}};
  }
  return {Level::kNote, blocker.reason,
          "worthwhile only for many opens, and small reads of what is cached: " + blocker.advice};
}

Finding check_libfuse(Context&) { return {Level::kPass, fuse_pkgversion(), {}}; }

Finding check_huge_pages(Context& context) {
  const auto file = context.machine->make_memory_file(2 * kMiB);
  if (!file) return {Level::kFail, file.error().detail, "free memory"};
  if (file->huge_pages) return {Level::kPass, "the cache can have its own huge pages", {}};
  const std::string shmem = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  if (shmem.contains("[always]") || shmem.contains("[force]")) {
    return {Level::kPass, "the system gives huge pages to all of shmem", {}};
  }
  return {Level::kDegraded,
          fmt::format("no huge pages: {} ({} CAP_SYS_ADMIN)", file->note,
                      context.machine->has_capability(CAP_SYS_ADMIN) ? "has" : "without"),
          "mount as root, or write always to "
          "/sys/kernel/mm/transparent_hugepage/shmem_enabled"};
}

Finding check_devices(Context& context) {
  const auto devices = context.machine->rdma_devices();
  if (devices) return judge_devices(*devices);
  return {Level::kNote, devices.error().detail,
          "needed only for RDMA by a NIC: load its driver (soft-RoCE: modprobe rdma_rxe)"};
}

// The reason why a port cannot be used; empty: it can.
std::string hindrance(const rdma::verbs::PortInfo& port) {
  using rdma::verbs::LinkLayer;
  if (!port.is_active) return "is down (" + port.state + ")";
  if (port.gids.empty() && port.link_layer != LinkLayer::kInfiniBand) return "has no GID";
  for (const auto& gid : port.gids) {
    if (gid.network_device.empty()) continue;
    const std::string mtu = first_line("/sys/class/net/" + gid.network_device + "/mtu");
    // A packet's headers (RoCE v2 over IPv6: 40 + 8 + 12 + 16 + 4, rounded up) must fit as well.
    constexpr unsigned kHeaderBytes = 84;
    unsigned mtu_bytes = 0;
    if (std::sscanf(mtu.c_str(), "%u", &mtu_bytes) == 1 &&
        mtu_bytes < port.active_mtu_bytes + kHeaderBytes) {
      return fmt::format("has MTU {}, which exceeds what fits into the MTU of {}, {}",
                         port.active_mtu_bytes, gid.network_device, mtu_bytes);
    }
  }
  return {};
}

std::string describe(const rdma::verbs::PortInfo& port) {
  using rdma::verbs::LinkLayer;
  std::string text = fmt::format("{}, {}, MTU {}",
                                 port.link_layer == LinkLayer::kEthernet     ? "Ethernet"
                                 : port.link_layer == LinkLayer::kInfiniBand ? "InfiniBand"
                                                                             : "other link",
                                 port.state, port.active_mtu_bytes);
  for (const auto& gid : port.gids) {
    text += fmt::format(", GID {} {} {}{}", gid.index, rdma::verbs::gid_type_name(gid.type),
                        rdma::verbs::address_of_gid(gid.gid),
                        gid.network_device.empty() ? "" : " on " + gid.network_device);
  }
  return text;
}

}  // namespace

Finding judge_kernel(const std::string& release) {
  unsigned major = 0;
  unsigned minor = 0;
  std::sscanf(release.c_str(), "%u.%u", &major, &minor);
  const std::pair version(major, minor);
  const std::string seen = "Linux " + release;
  // direct files may be mapped since 6.6, FUSE passthrough came with 6.9
  if (version < std::pair(5U, 4U)) {
    return {Level::kFail, seen + " is older than 5.4", "use a newer kernel"};
  }
  if (version < std::pair(6U, 6U)) {
    return {Level::kNote,
            seen + ": large files are read through the page cache, which costs a copy",
            "Linux 6.6 reads large files without that copy; so do programs under `s3rdmafs run`"};
  }
  if (version < std::pair(6U, 9U)) {
    return {Level::kNote, seen + ": no FUSE passthrough",
            "programs under `s3rdmafs run` need none: they read past FUSE"};
  }
  return {Level::kPass, seen + ": has FUSE passthrough", {}};
}

Finding judge_devices(const std::vector<rdma::verbs::DeviceInfo>& devices) {
  if (devices.empty()) {
    return {Level::kNote, "none", "needed only for RDMA by a NIC: load its driver"};
  }
  std::string seen;
  std::string faults;
  bool has_good_one = false;
  for (const auto& device : devices) {
    if (!device.hindrance.empty()) {
      const std::string fault = device.name + " " + device.hindrance;
      faults += (faults.empty() ? "" : "; ") + fault;
      seen += (seen.empty() ? "" : "; ") + fault;
    }
    for (const auto& port : device.ports) {
      const std::string name = fmt::format("{} port {}", device.name, port.number);
      const std::string fault = hindrance(port);
      has_good_one = has_good_one || fault.empty();
      if (!fault.empty()) {
        faults += fmt::format("{}{} {}", faults.empty() ? "" : "; ", name, fault);
      }
      seen += fmt::format("{}{}: {}", seen.empty() ? "" : "; ", name, describe(port));
    }
  }
  if (faults.empty()) return {Level::kPass, seen, {}};
  return {has_good_one ? Level::kNote : Level::kDegraded, faults + " [" + seen + "]",
          "set the link up (ip link set DEV up), give it an address, and equal MTUs on both ends"};
}

void add_machine_checks(Checks& checks) {
  checks.insert(checks.end(), {{"kernel", "", check_kernel},
                               {"FUSE device", "", check_fuse_device},
                               {"libfuse", "", check_libfuse},
                               {"FUSE over io_uring", "", check_uring},
                               {"huge pages", "", check_huge_pages},
                               {"RDMA devices", "", check_devices}});
}

}  // namespace s3rdmafs::daemon::doctor
