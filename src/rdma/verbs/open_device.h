// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rdma/fabric.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::verbs {

/// Every RDMA device of this machine; ends with a nullptr. Errors: kSystem.
[[nodiscard]] Result<DeviceList> device_list();

/// Errors: kNotFound, with the devices there are; kSystem.
[[nodiscard]] Result<Context> open_device(const std::string& name);

/// Registers memory with the least rights: remote write for GET, remote read for PUT.
/// @param iova  the address by which servers know the first byte; see AddressSpace
/// Errors: kNoMemory, with the limit on locked memory where that is the likely reason; kSystem.
[[nodiscard]] Result<Registration> register_memory(ibv_pd* domain, std::span<std::byte> bytes,
                                                   std::uint64_t iova, Access access);

}  // namespace s3rdmafs::rdma::verbs
