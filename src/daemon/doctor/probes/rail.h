// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "daemon/doctor/probes/transfers.h"
#include "daemon/doctor/test_memory.h"
#include "rdma/fabric.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::daemon::doctor {

struct Context;

/// One way for servers to reach our memory, with a fabric of its own that knows no other: a port of
/// the dc fabric, or the port that leads to one endpoint of the rc fabric.
struct Rail {
  std::string name;            ///< "mlx5_0:1"; over rc with the endpoint behind it
  config::MountConfig config;  ///< the mount file's, with this rail alone
  std::string source_address;  ///< where its tokens want requests to come from; empty: anywhere
  std::string fault;           ///< why it is of no use; empty: none found
  // Members go in reverse.
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<TestMemory> memory;
  std::unique_ptr<s3::HttpObjectStore> store;  ///< by this rail or not at all

  /// No answer may come after the memory it is about.
  void shut_down();
};

/// The rails of the mount file, not yet opened; none where its fabric needs no NIC.
/// Errors: kNotFound and the like where there is a rail that cannot be.
[[nodiscard]] Result<std::vector<Rail>> list_rails(Context& context);

/// Opens the rail, and registers memory with it. `fault` says what fails.
void open_rail(Context& context, Rail& rail);

/// What a check by RDMA goes through.
struct RdmaPath {
  std::string name;            ///< of the rail, or of the fabric
  std::string source_address;  ///< as the rail's
  ReadPath path;
};

/// Every rail that works, or the fabric where it has no rails; none where nothing works by RDMA.
[[nodiscard]] std::vector<RdmaPath> rdma_paths(Context& context);

}  // namespace s3rdmafs::daemon::doctor
