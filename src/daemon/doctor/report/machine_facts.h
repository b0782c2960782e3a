// SPDX-License-Identifier: Apache-2.0
// The facts that a support engineer asks for first. Facts that cannot be read are left out.
#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::daemon::doctor {

/// Kernel, processors, memory, limits and capabilities of this process.
[[nodiscard]] toml::table machine_facts();

/// One table for each device: firmware, PCIe link, NUMA node, driver, ports with MTU and GID table.
/// @param sys_folder  where sysfs is mounted: "/sys"
[[nodiscard]] toml::array device_facts(const std::vector<rdma::verbs::DeviceInfo>& devices,
                                       const std::string& sys_folder);

/// The versions of s3rdmafs, libfuse and libcurl.
/// @param program  the version of s3rdmafs
[[nodiscard]] toml::table version_facts(const std::string& program);

}  // namespace s3rdmafs::daemon::doctor
