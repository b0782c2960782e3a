// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/connection_options.h"
#include "rdma/fabric.h"
#include "rdma/verbs/address_space.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::rdma::verbs {

struct RcOptions {
  PortWish port;              ///< which port of which device
  std::string endpoint_url;   ///< scheme://host[:port]
  std::string endpoint_host;  ///< of that URL
  std::uint16_t endpoint_port = 0;
  net::ConnectionOptions connection;
  unsigned sessions_max = 64;  ///< with this server; at least 1
};

/// The fabric to servers that speak the rc dialect, over any RDMA device (s3rdmafs-protocol(7)). It
/// recovers by itself, within about a second, from ports that go down, addresses that change,
/// devices that fail and servers that restart. Borrows clock, metrics and addresses.
///
/// Errors: kNotFound where no port of a device leads to the server; kSystem. A server that cannot
/// be reached or does not speak rc is not an error: the fabric is down and goes on trying.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_rc_fabric(
    RcOptions options, const Clock& clock, metrics::Registry& metrics,
    AddressSpace& addresses = process_addresses());

}  // namespace s3rdmafs::rdma::verbs
