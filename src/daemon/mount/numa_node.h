// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace s3rdmafs::daemon {

/// The NUMA node of the RDMA devices that a mount uses: what a NIC writes into memory of another
/// node, and what is read out of it beside the NIC, crosses the link between the nodes.
///
/// @param fabric  rdma::Fabric::name(): nothing where it moves bytes by no device
/// @param rails   rdma.rails
/// @param sys     where sysfs is, for tests
///
/// Nothing where the machine has one node, where no device says on which one it is, or where the
/// devices are on several: then no single node is the right one.
[[nodiscard]] std::optional<unsigned> node_of_devices(std::string_view fabric,
                                                      std::string_view rails,
                                                      const std::filesystem::path& sys = "/sys");

/// While it lives, this thread and those it starts take memory from a node as long as that has some
/// left; threads that were started keep to it. Does nothing where whoever started the process chose
/// a policy of their own (numactl(8), NUMAPolicy= of a unit), or without a node. Logs what it does.
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
