// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "target/rdma/transfer_service.h"

namespace s3rdmafs::target {

/// Listens on a UNIX socket for shm clients and serves their tokens
/// (include/s3rdmafs/rdma/shm_wire.h). Runs until destroyed.
///
/// @param socket_name  a path, or "@name" in the abstract name space
/// Errors: kExists (another server listens there), kSystem.
[[nodiscard]] Result<std::unique_ptr<TransferService>> make_shm_service(
    const std::string& socket_name);

}  // namespace s3rdmafs::target
