// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rdma/mlx5/dc_fabric.h"

namespace s3rdmafs::rdma::mlx5 {

/// The ports that rdma.rails names: "auto" (every active port of every ConnectX), or devices
/// ("mlx5_0", "mlx5_0:2") and IP addresses of theirs with commas between.
///
/// @param gid_index  of every rail, InfiniBand's too; nothing: chosen on RoCE (RoCE v2, an IPv4
///                   address before an IPv6 one before a link-local one, the lowest index of its
///                   kind), and none on InfiniBand
///
/// A device that cannot be opened or asked is logged and left out: in a container the kernel lists
/// devices that the container was not given.
///
/// Errors: kNotFound, with the rail that is not there; kUnsupported where "auto" finds none or this
/// build has no libmlx5; kSystem, also where a device that is named cannot be opened or asked. Each
/// names the devices left out, with their causes.
[[nodiscard]] Result<std::vector<RailPort>> find_rails(std::string_view text,
                                                       std::optional<unsigned> gid_index);

}  // namespace s3rdmafs::rdma::mlx5
