// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::rdma::verbs {

/// Queries the kernel's routing table. One thread.
class RouteQuery {
 public:
  enum class Answer {
    kLeadsThere,
    kLeadsElsewhere,  ///< by another network device, or nowhere
    kUnknown,         ///< the kernel did not answer, or the destination is this host
  };

  virtual ~RouteQuery() = default;

  /// Whether packets to `destination` leave by a network device: by the route from one of its
  /// addresses, or because the destination is on the device's own network.
  /// @param device  index of the network device
  /// @param source  an address of that device; a link-local one is ignored: any may be the source
  [[nodiscard]] virtual Answer ask(unsigned device, const Gid& source, const Gid& destination) = 0;
};

/// Asks the kernel over netlink (RTM_GETROUTE). Sends nothing to the network.
[[nodiscard]] std::unique_ptr<RouteQuery> make_kernel_route_query();

/// The addresses of hosts, which may be names or addresses in text ("[::1]" too). Blocks for
/// `patience` at most, where there are names. Errors: kUnreachable where not all of them are known
/// by then: from a part one would draw wrong conclusions about the rest.
[[nodiscard]] Result<std::vector<Gid>> addresses_of_hosts(const std::vector<std::string>& hosts,
                                                          std::chrono::milliseconds patience);

}  // namespace s3rdmafs::rdma::verbs
