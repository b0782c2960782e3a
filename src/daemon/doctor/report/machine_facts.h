// SPDX-License-Identifier: Apache-2.0
// What an engineer at the other end asks for first. Facts that cannot be had are left out.
#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::daemon::doctor {

/// Kernel, processors, memory, limits and capabilities of this process.
[[nodiscard]] toml::table machine_facts();

/// One table a device: firmware, PCIe link, NUMA node, driver, ports with MTU and GID table.
/// @param sys_folder  "/sys"
[[nodiscard]] toml::array device_facts(const std::vector<rdma::verbs::DeviceInfo>& devices,
                                       const std::string& sys_folder);

/// @param program  the version of s3rdmafs
[[nodiscard]] toml::table version_facts(const std::string& program);

}  // namespace s3rdmafs::daemon::doctor
