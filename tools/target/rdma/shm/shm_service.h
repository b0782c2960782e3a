// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "target/rdma/shm/shm_budget.h"
#include "target/rdma/shm/shm_users.h"
#include "target/rdma/transfer_service.h"

namespace s3rdmafs::target {

/// Whether bytes are moved at all.
enum class Dma {
  kCopy,
  /// For benchmarks alone: a transfer whose token and window are good succeeds at once and moves no
  /// byte, as if a NIC had done it without this host's processors. After a GET the client reads the
  /// bytes that its memory held before. After a PUT the object has its length, and only zeros.
  kNone,
};

/// Whom the shm fabric serves, and how much of it each may have.
struct ShmRules {
  ShmUsers users;
  ShmLimits limits = shm_limits_of_this_host();
};

/// Listens on a UNIX socket for shm clients and serves their tokens
/// (include/s3rdmafs/rdma/shm_wire.h). Runs until destroyed.
///
/// @param socket_name  a path, or "@name" in the abstract name space
/// Errors: kExists (another server listens there), kSystem.
[[nodiscard]] Result<std::unique_ptr<TransferService>> make_shm_service(
    const std::string& socket_name, Dma dma = Dma::kCopy, const ShmRules& rules = ShmRules{});

/// The same, but nothing, and a warning in the log, where another program has the socket: any user
/// can take a name in the abstract name space, and a server without shm is better than none.
[[nodiscard]] Result<std::unique_ptr<TransferService>> make_shm_service_if_free(
    const std::string& socket_name, Dma dma = Dma::kCopy, const ShmRules& rules = ShmRules{});

}  // namespace s3rdmafs::target
