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
  /// Always there on RoCE. On InfiniBand the target is reached by its LID where there is none,
  /// which does not cross routers and is not what most servers expect.
  std::optional<unsigned> gid_index;
  verbs::PacketMarks marks = {};

  [[nodiscard]] std::string name() const { return device + ":" + std::to_string(port); }
};

struct DcOptions {
  std::vector<RailPort> rails;  ///< at least one
  std::uint64_t dc_key = 0;
  DcTokenForm token_form = DcTokenForm::k81;
  /// Whether a request is to come from the address of the rail that its token names.
  bool bind_source = true;
};

/// The fabric to servers with DC initiators: cuObject's tokens over ConnectX
/// (s3rdmafs-protocol(7)). Memory is registered on every rail; tokens name one rail after the
/// other, leaving out what is down or keeps failing. Devices that fail, and ports that go down or
/// get another address, come back by themselves, within about a second.
///
/// Rails whose port is down do not keep it from starting. Borrows clock, metrics and addresses.
/// Errors: kUnsupported where this build has no libmlx5 or a device no DC transport; kNotFound
/// where there is no such device, port or GID; kSystem, with the call that failed.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_dc_fabric(
    DcOptions options, const Clock& clock, metrics::Registry& metrics,
    verbs::AddressSpace& addresses = verbs::process_addresses());

}  // namespace s3rdmafs::rdma::mlx5
