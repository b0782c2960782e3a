// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "rdma/fabric.h"

namespace s3rdmafs::rdma {

/// One fabric for each server of the store, where sessions and registrations belong to a server
/// (shm, rc), as one: a region is registered with every one of them, and MemoryRegion::for_endpoint
/// chooses. Up while one is. Its regions' own token() is that of the first.
///
/// fence() fences off every server. One that does not answer keeps the memory in quarantine, since
/// it is not recorded which of them had tokens for it.
///
/// @param fabrics  in the order of endpoint.urls; at least one
[[nodiscard]] std::unique_ptr<Fabric> make_endpoint_fabrics(
    std::vector<std::unique_ptr<Fabric>> fabrics);

}  // namespace s3rdmafs::rdma
