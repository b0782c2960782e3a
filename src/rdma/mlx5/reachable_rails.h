// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "rdma/mlx5/dc_fabric.h"
#include "rdma/verbs/route.h"

namespace s3rdmafs::rdma::mlx5 {

/// A port that may become a rail, and how the routing table knows it.
struct RailCandidate {
  RailPort rail = {};
  unsigned network_device = 0;  ///< index; 0: not known
  verbs::Gid address = {};      ///< its GID, where there is a network device
};

/// The candidates by which the kernel reaches one of the endpoints, in their order: some rails of a
/// compute node do not lead to the storage. A candidate that the routing table does not know stays.
/// All stay where none would be left, since the table may be about to change. Logs what is left
/// out.
[[nodiscard]] std::vector<RailPort> reachable_rails(std::vector<RailCandidate> candidates,
                                                    std::span<const verbs::Gid> endpoints,
                                                    verbs::RouteQuery& routes);

}  // namespace s3rdmafs::rdma::mlx5
