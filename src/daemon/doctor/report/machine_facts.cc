// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/machine_facts.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>

#include <curl/curl.h>

#include "daemon/doctor/machine.h"
#include "fuse/lowlevel.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

void add_line(toml::table& table, std::string_view name, const std::string& path) {
  const std::string line = first_line(path);
  if (!line.empty()) table.insert(name, line);
}

std::string_view link_name(rdma::verbs::LinkLayer layer) {
  switch (layer) {
    case rdma::verbs::LinkLayer::kInfiniBand:
      return "InfiniBand";
    case rdma::verbs::LinkLayer::kEthernet:
      return "Ethernet";
    case rdma::verbs::LinkLayer::kOther:
      break;
  }
  return "other";
}

toml::table gid_facts(const rdma::verbs::GidEntry& gid, const std::string& sys_folder) {
  toml::table facts{{"index", static_cast<std::int64_t>(gid.index)},
                    {"type", rdma::verbs::gid_type_name(gid.type)},
                    {"address", rdma::verbs::address_of_gid(gid.gid)},
                    {"network_device", gid.network_device}};
  if (!gid.network_device.empty()) {
    const std::string net = sys_folder + "/class/net/" + gid.network_device;
    add_line(facts, "network_mtu", net + "/mtu");
    add_line(facts, "network_speed", net + "/speed");
  }
  return facts;
}

toml::table port_facts(const rdma::verbs::PortInfo& port, const std::string& folder,
                       const std::string& sys_folder) {
  toml::table facts{{"number", static_cast<std::int64_t>(port.number)},
                    {"link_layer", link_name(port.link_layer)},
                    {"state", port.state},
                    {"active_mtu", static_cast<std::int64_t>(port.active_mtu_bytes)},
                    {"lid", static_cast<std::int64_t>(port.lid)}};
  add_line(facts, "rate", folder + "/rate");
  add_line(facts, "phys_state", folder + "/phys_state");
  toml::array gids;
  for (const auto& gid : port.gids) gids.push_back(gid_facts(gid, sys_folder));
  facts.insert("gids", std::move(gids));
  return facts;
}

toml::table facts_of(const rdma::verbs::DeviceInfo& device, const std::string& sys_folder) {
  const std::string folder = sys_folder + "/class/infiniband/" + device.name;
  toml::table facts{{"name", device.name}, {"node_guid", device.node_guid}};
  add_line(facts, "firmware", folder + "/fw_ver");
  add_line(facts, "type", folder + "/hca_type");
  add_line(facts, "board", folder + "/board_id");
  constexpr auto kOfTheBus = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"numa_node", "numa_node"},
      {"pcie_speed", "current_link_speed"},
      {"pcie_width", "current_link_width"},
      {"pcie_speed_max", "max_link_speed"},
      {"pcie_width_max", "max_link_width"},
      {"vendor", "vendor"},
      {"device", "device"},
  });
  for (const auto& [name, file] : kOfTheBus) {
    add_line(facts, name, fmt::format("{}/device/{}", folder, file));
  }
  std::error_code error;
  const auto bus = std::filesystem::canonical(folder + "/device", error);
  if (!error) facts.insert("bus_address", bus.filename().string());
  const auto driver = std::filesystem::canonical(folder + "/device/driver", error);
  if (!error) {
    facts.insert("driver", driver.filename().string());
    add_line(facts, "driver_version", folder + "/device/driver/module/version");
  }
  toml::array ports;
  for (const auto& port : device.ports) {
    ports.push_back(port_facts(port, fmt::format("{}/ports/{}", folder, port.number), sys_folder));
  }
  facts.insert("ports", std::move(ports));
  return facts;
}

}  // namespace

toml::table machine_facts() {
  utsname system{};
  ::uname(&system);
  toml::table facts{{"kernel", system.release},
                    {"kernel_build", system.version},
                    {"architecture", system.machine},
                    {"processors", static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN))},
                    {"page_bytes", static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE))}};
  struct sysinfo memory{};
  if (::sysinfo(&memory) == 0) {
    facts.insert("memory_bytes",
                 static_cast<std::int64_t>(std::uint64_t{memory.totalram} * memory.mem_unit));
  }
  rlimit locked{};
  if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
    facts.insert("locked_memory_limit",
                 locked.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(locked.rlim_cur));
  }
  const Machine machine;
  facts.insert("has_cap_ipc_lock", machine.has_capability(CAP_IPC_LOCK));
  facts.insert("has_cap_sys_admin", machine.has_capability(CAP_SYS_ADMIN));
  add_line(facts, "fuse_max_pages", "/proc/sys/fs/fuse/max_pages_limit");
  add_line(facts, "shmem_huge_pages", "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  add_line(facts, "numa_nodes", "/sys/devices/system/node/online");
  return facts;
}

toml::array device_facts(const std::vector<rdma::verbs::DeviceInfo>& devices,
                         const std::string& sys_folder) {
  toml::array facts;
  for (const auto& device : devices) facts.push_back(facts_of(device, sys_folder));
  return facts;
}

toml::table version_facts(const std::string& program) {
  return toml::table{
      {"s3rdmafs", program}, {"libfuse", fuse_pkgversion()}, {"libcurl", ::curl_version()}};
}

}  // namespace s3rdmafs::daemon::doctor
