// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace s3rdmafs::daemon {

/// The NUMA node of the RDMA devices that a mount uses. Memory of another node costs a transfer
/// over the link between the nodes for every byte that the NIC moves.
///
/// @param fabric  rdma::Fabric::name(); only rc and dc use a device
/// @param rails   rdma.rails
/// @param sys     where sysfs is mounted; for tests
/// @return nothing where the fabric uses no device, the machine has one node, no device tells its
///         node, or the devices are on several nodes
[[nodiscard]] std::optional<unsigned> node_of_devices(std::string_view fabric,
                                                      std::string_view rails,
                                                      const std::filesystem::path& sys = "/sys");

/// While it lives, this thread takes memory from one NUMA node as long as that node has memory
/// left. Threads started meanwhile inherit the policy and keep it. Does nothing without a node, or
/// where the process was started with a memory policy (numactl(8), NUMAPolicy= of a unit). Logs its
/// choice. Create and destroy on one thread.
class PreferNode {
 public:
  explicit PreferNode(std::optional<unsigned> node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  bool is_set_ = false;
};

}  // namespace s3rdmafs::daemon
