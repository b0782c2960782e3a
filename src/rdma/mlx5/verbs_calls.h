// SPDX-License-Identifier: Apache-2.0
// Calls of libibverbs that take more than a line, their failures explained. Reentrant.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <infiniband/verbs.h>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::mlx5 {

using verbs::CompletionQueue;
using verbs::Context;
using verbs::ProtectionDomain;
using verbs::QueuePair;
using verbs::Registration;
using verbs::SharedReceiveQueue;
using DeviceList = std::unique_ptr<ibv_device*[], verbs::Destroy<ibv_free_device_list>>;

/// Every RDMA device of this machine; ends with a nullptr. Errors: kSystem.
[[nodiscard]] Result<DeviceList> list_devices();

/// Errors: kNotFound, with the devices there are; kSystem.
[[nodiscard]] Result<Context> open_device(const std::string& name);

/// Registers memory for `access` (ibv_access_flags).
/// Errors: kNoMemory, with the limit on locked memory where that is the likely reason; kSystem.
[[nodiscard]] Result<Registration> register_memory(ibv_pd* domain, std::span<std::byte> bytes,
                                                   unsigned access);

}  // namespace s3rdmafs::rdma::mlx5
