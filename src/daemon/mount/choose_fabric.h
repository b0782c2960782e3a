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

/// Makes the fabric that the mount file asks for. "auto" is shm where the endpoint is on this host,
/// rc where an RDMA port leads to it, else the null fabric, which moves no bytes; dc has to be
/// named. With several endpoints each has its own shm or rc fabric. Borrows clock and metrics. May
/// wait 3 s for a name to be looked up. Errors: kUnsupported where rdma.mode is "require" and the
/// fabric is not up; otherwise those of the fabric that was named.
[[nodiscard]] Result<std::unique_ptr<rdma::Fabric>> choose_fabric(const config::MountConfig& config,
                                                                  const Clock& clock,
                                                                  metrics::Registry& metrics);

/// The rails of the dc fabric, each in the form in which rdma.rails would name it alone.
/// Errors: those of rdma::mlx5::find_rails().
[[nodiscard]] Result<std::vector<std::string>> dc_rail_names(const config::MountConfig& config);

/// The port of the rc fabric that the mount file asks for.
[[nodiscard]] rdma::verbs::PortWish port_wish(const config::MountConfig::Rdma& config);

}  // namespace s3rdmafs::daemon
