// SPDX-License-Identifier: Apache-2.0
// Owners of the libibverbs objects that a DC target is made of. Thread-bound.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <infiniband/verbs.h>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::rdma::mlx5 {

/// Ends an object's life with the verb for it.
template <auto kEnd>
struct EndWith {
  template <class T>
  void operator()(T* object) const noexcept {
    kEnd(object);
  }
};

using DeviceList = std::unique_ptr<ibv_device*[], EndWith<ibv_free_device_list>>;
using Context = std::unique_ptr<ibv_context, EndWith<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, EndWith<ibv_dealloc_pd>>;
using CompletionQueue = std::unique_ptr<ibv_cq, EndWith<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, EndWith<ibv_destroy_srq>>;
using QueuePair = std::unique_ptr<ibv_qp, EndWith<ibv_destroy_qp>>;
using Registration = std::unique_ptr<ibv_mr, EndWith<ibv_dereg_mr>>;

/// Every RDMA device of this machine; ends with a nullptr. Errors: kSystem.
[[nodiscard]] Result<DeviceList> list_devices();

/// Errors: kNotFound, with the devices there are; kSystem.
[[nodiscard]] Result<Context> open_device(const std::string& name);

/// Registers memory for `access` (ibv_access_flags).
/// Errors: kNoMemory, with the limit on locked memory where that is the likely reason; kSystem.
[[nodiscard]] Result<Registration> register_memory(ibv_pd* domain, std::span<std::byte> bytes,
                                                   unsigned access);

}  // namespace s3rdmafs::rdma::mlx5
