// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config/mount_config.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The fabric that the mount file asks for and this machine has. "auto" is shm where the endpoint
/// is on this host, none elsewhere; dc is taken only where it is asked for. Borrows the clock.
/// Errors: kUnsupported where rdma.mode is "require" and there is no fabric, or it is not up; those
/// of the dc fabric.
[[nodiscard]] Result<std::unique_ptr<rdma::Fabric>> choose_fabric(const config::MountConfig& config,
                                                                  const Clock& clock);

}  // namespace s3rdmafs::daemon
