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

/// One rail, with a fabric of its own that has no other: a port of the dc fabric, or the port that
/// leads to one endpoint of the rc fabric. Members are destroyed in reverse.
struct Rail {
  std::string name;            ///< "mlx5_0:1"; over rc followed by the endpoint
  config::MountConfig config;  ///< the mount file's, with this rail alone
  std::string source_address;  ///< that its tokens require of requests; empty: any
  std::string fault;           ///< the reason why it does not work; empty: none found
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<TestMemory> memory;
  std::unique_ptr<s3::HttpObjectStore> store;  ///< transfers by this rail only

  /// Answers every request, so that no answer comes after its memory is gone.
  void shut_down();
};

/// The rails of the mount file, not yet opened; empty where its fabric needs no NIC.
/// Errors: those of dc_rail_names().
[[nodiscard]] Result<std::vector<Rail>> list_rails(Context& context);

/// Opens the rail and registers memory with it. On failure sets `fault`.
void open_rail(Context& context, Rail& rail);

/// One path that a check by RDMA tests.
struct RdmaPath {
  std::string name;            ///< of the rail, or of the fabric
  std::string source_address;  ///< as the rail's
  ReadPath path;
};

/// Every rail that works, or the fabric itself where it has no rails; empty where RDMA does not
/// work.
[[nodiscard]] std::vector<RdmaPath> rdma_paths(Context& context);

}  // namespace s3rdmafs::daemon::doctor
