// SPDX-License-Identifier: Apache-2.0
// The policy is the thread's, not that of each mapping: the arena takes its pages while the cache
// is built, and whole objects take theirs on a thread that is started then and inherits the policy.
// "Preferred", not "bind": with a full node the mount works, a little slower.
#include "daemon/mount/process/numa_node.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

// The most that a kernel can have (CONFIG_NODES_SHIFT is 10 at most).
constexpr unsigned kNodesMax = 1024;
constexpr unsigned kBitsPerWord = 8 * sizeof(unsigned long);

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    names.insert(at->path().filename());
  }
  return names;
}

bool has_several_nodes(const std::filesystem::path& sys) {
  std::size_t nodes = 0;
  for (const std::string& name : names_in(sys / "devices/system/node")) {
    if (name.starts_with("node") && number(std::string_view(name).substr(4))) ++nodes;
  }
  return nodes > 1;
}

// The devices that rdma.rails names. It may name a rail by address; only the fabric finds out which
// device has it, so here every device counts.
std::set<std::string> devices_of(std::string_view rails, const std::filesystem::path& sys) {
  std::set<std::string> all = names_in(sys / "class/infiniband");
  std::set<std::string> named;
  while (!rails.empty()) {
    const std::string_view rail = rails.substr(0, rails.find(','));
    const std::string device(rail.substr(0, rail.find(':')));
    if (!all.contains(device)) return all;
    named.insert(device);
    rails.remove_prefix(std::min(rail.size() + 1, rails.size()));
  }
  return named;
}

// The kernel shows -1 where the firmware does not tell.
std::optional<unsigned> node_of(const std::string& device, const std::filesystem::path& sys) {
  std::ifstream file(sys / "class/infiniband" / device / "device/numa_node");
  std::string text;
  std::getline(file, text);
  return number(text);
}

}  // namespace

std::optional<unsigned> node_of_devices(std::string_view fabric, std::string_view rails,
                                        const std::filesystem::path& sys) {
  if ((fabric != "rc" && fabric != "dc") || !has_several_nodes(sys)) return std::nullopt;
  std::optional<unsigned> common;
  for (const std::string& device : devices_of(rails, sys)) {
    const std::optional<unsigned> node = node_of(device, sys);
    if (!node) continue;
    if (common && common != node) {
      log::info(
          "cache: the RDMA devices are on several NUMA nodes; its memory may come from any node");
      return std::nullopt;
    }
    common = node;
  }
  return common;
}

PreferNode::PreferNode(std::optional<unsigned> node) {
  if (!node) return;
  int mode = MPOL_DEFAULT;
  if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) != 0 || mode != MPOL_DEFAULT) {
    log::info("cache: s3rdmafs was started with a memory policy; the policy stays");
    return;
  }
  std::array<unsigned long, kNodesMax / kBitsPerWord> nodes{};
  if (*node < kNodesMax) nodes.at(*node / kBitsPerWord) = 1UL << (*node % kBitsPerWord);
  // One more than there are bits: the kernel subtracts one from the number of bits.
  is_set_ = *node < kNodesMax &&
            ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), kNodesMax + 1) == 0;
  if (is_set_) {
    log::info("cache: its memory comes from NUMA node {}, where the RDMA device is", *node);
  } else {
    log::warn("cache: memory cannot be taken from NUMA node {}: {}; it may come from any node",
              *node, std::strerror(errno));
  }
}

PreferNode::~PreferNode() {
  if (is_set_) ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace s3rdmafs::daemon
