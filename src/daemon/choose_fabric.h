// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config/mount_config.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The fabric that the mount file asks for and this machine has. "auto" is shm where the endpoint
/// is on this host, none elsewhere. Errors: kUnsupported where rdma.mode is "require" and there is
/// no fabric, or it is not up.
[[nodiscard]] Result<std::unique_ptr<rdma::Fabric>> choose_fabric(
    const config::MountConfig& config);

}  // namespace s3rdmafs::daemon
