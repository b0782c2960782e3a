// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "rdma/fabric.h"

namespace s3rdmafs::rdma::shm {

/// The fabric to a server on this host: regions are handed over as file descriptors and the server
/// copies into them (include/s3rdmafs/rdma/shm_wire.h). Needs no NIC and no privileges.
///
/// The first attempt to connect is made before this returns. A thread goes on trying, so that a
/// server that restarts is found again within about a second. Regions that are registered while the
/// server is away get their tokens when it is back.
///
/// @param socket_name  a path, or "@name" in the abstract name space
[[nodiscard]] std::unique_ptr<Fabric> make_shm_fabric(std::string socket_name);

}  // namespace s3rdmafs::rdma::shm
