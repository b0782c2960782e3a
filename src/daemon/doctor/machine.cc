// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/machine.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include <net/if.h>

#include "daemon/mount/choose_fabric.h"
#include "fuse/session.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// The address as text; empty for anything but an IP address, and for link-local addresses.
std::string address_text(const sockaddr* address) {
  if (address == nullptr) return {};
  socklen_t length = sizeof(sockaddr_in);
  if (address->sa_family == AF_INET6) {
    length = sizeof(sockaddr_in6);
    sockaddr_in6 ip{};  // a copy: the list's own need not be aligned for it
    std::memcpy(&ip, address, sizeof(ip));
    if (IN6_IS_ADDR_LINKLOCAL(&ip.sin6_addr)) return {};
  } else if (address->sa_family != AF_INET) {
    return {};
  }
  std::array<char, NI_MAXHOST> host{};
  const int error =
      ::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host.data() : std::string();
}

}  // namespace

std::string Machine::kernel_release() const {
  utsname system{};
  ::uname(&system);
  return system.release;
}

Result<void> Machine::open_fuse_device() const { return fuse::check_fuse_device(); }

fuse::UringBlocker Machine::uring_blocker() const { return fuse::find_uring_blocker(); }

Result<memory::MemoryFile> Machine::make_memory_file(std::uint64_t size_bytes) const {
  return memory::make_memory_file(size_bytes);
}

Result<std::vector<rdma::verbs::DeviceInfo>> Machine::rdma_devices() const {
  return rdma::verbs::list_devices();
}

std::uint64_t Machine::locked_memory_limit_bytes() const {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur;
}

bool Machine::has_capability(unsigned number) const {
  constexpr std::string_view kField = "CapEff:\t";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kField)) continue;
    std::uint64_t mask = 0;
    std::from_chars(line.data() + kField.size(), line.data() + line.size(), mask, 16);
    return ((mask >> number) & 1U) != 0;
  }
  return false;
}

std::vector<std::string> Machine::addresses() const {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<std::string> found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_UP) == 0) continue;
    if (std::string text = address_text(at->ifa_addr); !text.empty())
      found.push_back(std::move(text));
  }
  return found;
}

Result<std::unique_ptr<rdma::Fabric>> Machine::open_fabric(const config::MountConfig& config,
                                                           const Clock& clock,
                                                           metrics::Registry& metrics) const {
  return choose_fabric(config, clock, metrics);
}

void Machine::pause(std::chrono::milliseconds time) const { std::this_thread::sleep_for(time); }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace s3rdmafs::daemon::doctor
