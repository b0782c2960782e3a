// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/verbs/address_space.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::rdma::mlx5 {

/// One port of one device, as the mount file or discovery chose it.
struct RailPort {
  std::string device;     ///< "mlx5_0"
  std::uint8_t port = 1;  ///< from 1
  /// Always set on RoCE. Without it servers reach the target by its LID, on InfiniBand only: that
  /// does not cross routers, and most servers do not expect it.
  std::optional<unsigned> gid_index;
  verbs::PacketMarks marks = {};

  [[nodiscard]] std::string name() const { return device + ":" + std::to_string(port); }
};

struct DcOptions {
  std::vector<RailPort> rails;  ///< at least one
  std::uint64_t dc_key = 0;     ///< the same on the servers
  DcTokenForm token_form = DcTokenForm::k81;
  /// Whether requests are sent from the address of the rail that their token names.
  bool bind_source = true;
};

/// The fabric to servers with DC initiators: cuObject's tokens over ConnectX
/// (s3rdmafs-protocol(7)). Memory is registered on every rail. Each token names the rail with the
/// fewest bytes outstanding, of those that are up and do not keep failing. The fabric recovers by
/// itself, within about a second, from devices that fail and from ports that go down or get another
/// address.
///
/// It starts also while the ports of some rails are down. Borrows clock, metrics and addresses.
/// Errors: kUnsupported where this build lacks libmlx5 or a device lacks DC transport; kNotFound
/// where a device, port or GID does not exist; kSystem, with the call that failed.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_dc_fabric(
    DcOptions options, const Clock& clock, metrics::Registry& metrics,
    verbs::AddressSpace& addresses = verbs::process_addresses());

}  // namespace s3rdmafs::rdma::mlx5
