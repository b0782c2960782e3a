// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/reachable_rails.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

std::string list_of(std::span<const verbs::Gid> addresses) {
  std::string list;
  for (const verbs::Gid& address : addresses) {
    list += (list.empty() ? "" : ", ") + verbs::address_of_gid(address);
  }
  return list;
}

bool may_reach(const RailCandidate& candidate, std::span<const verbs::Gid> endpoints,
               verbs::RouteQuery& routes) {
  if (candidate.network_device == 0 || endpoints.empty()) return true;
  return std::ranges::any_of(endpoints, [&](const verbs::Gid& endpoint) {
    return routes.ask(candidate.network_device, candidate.address, endpoint) !=
           verbs::RouteQuery::Answer::kLeadsElsewhere;
  });
}

}  // namespace

std::vector<RailPort> reachable_rails(std::vector<RailCandidate> candidates,
                                      std::span<const verbs::Gid> endpoints,
                                      verbs::RouteQuery& routes) {
  std::vector<RailPort> kept;
  std::vector<RailPort> left_out;
  for (RailCandidate& candidate : candidates) {
    const bool is_kept = may_reach(candidate, endpoints, routes);
    (is_kept ? kept : left_out).push_back(std::move(candidate.rail));
  }
  if (kept.empty()) {
    log::warn("dc: the kernel routes no rail's address to {}; using all {} rails",
              list_of(endpoints), left_out.size());
    return left_out;
  }
  for (const RailPort& rail : left_out) {
    log::info("dc: the kernel does not route {} to {}; not using the rail (rdma.rails can name it)",
              rail.name(), list_of(endpoints));
  }
  return kept;
}

}  // namespace s3rdmafs::rdma::mlx5
