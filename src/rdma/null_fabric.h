// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "rdma/fabric.h"

namespace s3rdmafs::rdma {

/// The fabric of a mount that uses HTTP alone: regions are plain memory, and token() fails with
/// kUnsupported. fence() always succeeds: no server ever had access.
[[nodiscard]] std::unique_ptr<Fabric> make_null_fabric();

}  // namespace s3rdmafs::rdma
