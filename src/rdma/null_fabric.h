// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "rdma/fabric.h"

namespace s3rdmafs::rdma {

/// The fabric of a mount that goes by HTTP alone: regions are plain memory, tokens are never had
/// (kUnsupported). fence() always succeeds: no server was ever let in.
[[nodiscard]] std::unique_ptr<Fabric> make_null_fabric();

}  // namespace s3rdmafs::rdma
