// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::daemon {

/// The fabric that the mount file asks for and this machine has. "auto" is shm where the endpoint
/// is on this host, rc where an RDMA port leads to it, else none; dc is taken only where it is
/// asked for. Borrows clock and metrics. Errors: kUnsupported where rdma.mode is "require" and
/// there is no fabric, or it is not up; those of the fabric that was asked for.
[[nodiscard]] Result<std::unique_ptr<rdma::Fabric>> choose_fabric(const config::MountConfig& config,

                                                                  const Clock& clock,
                                                                  metrics::Registry& metrics);

/// The rails of the dc fabric, each as rdma.rails would name it alone. Errors: those of
/// rdma::mlx5::find_rails().
[[nodiscard]] Result<std::vector<std::string>> dc_rail_names(const config::MountConfig& config);

/// Which port of which device the mount file asks for.
[[nodiscard]] rdma::verbs::PortWish port_wish(const config::MountConfig::Rdma& config);

}  // namespace s3rdmafs::daemon
