// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rdma/mlx5/dc_fabric.h"
#include "rdma/verbs/route.h"

namespace s3rdmafs::rdma::mlx5 {

/// Which ports are to be rails.
struct RailWish {
  /// rdma.rails: "auto" (the active ports of every ConnectX by which an endpoint can be reached),
  /// or devices ("mlx5_0", "mlx5_0:2") and IP addresses of theirs with commas between.
  std::string_view ports = "auto";
  /// Of every rail. Nothing: chosen; on RoCE a RoCE v2 entry, an IPv4 address before an IPv6 one
  /// before a link-local one, the lowest index of its kind; on InfiniBand entry 0, which is always
  /// the port's own.
  std::optional<unsigned> gid_index = {};
  /// Where the GID is chosen: none on InfiniBand, where the LID is enough within a subnet.
  bool lid_alone_on_infiniband = false;
  /// Addresses of the endpoints, for "auto"; empty: not known, so every active port is taken.
  std::vector<verbs::Gid> endpoints = {};
};

/// The rails that `wish` describes. Borrows `routes`, which only "auto" asks.
///
/// A device that cannot be opened or queried is logged and left out: in a container the kernel
/// lists devices that the container was not given.
///
/// Errors: kNotFound, with the rail that does not exist; kUnsupported where "auto" finds none or
/// this build lacks libmlx5; kSystem, also where a device that is named cannot be opened or
/// queried. Each names the devices left out, with their causes.
[[nodiscard]] Result<std::vector<RailPort>> find_rails(const RailWish& wish,
                                                       verbs::RouteQuery& routes);

}  // namespace s3rdmafs::rdma::mlx5
