// SPDX-License-Identifier: Apache-2.0
#include "daemon/choose_fabric.h"

#include <string>

#include "daemon/host_port.h"
#include "rdma/null_fabric.h"
#include "rdma/shm/shm_fabric.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::daemon {
namespace {

std::unique_ptr<rdma::Fabric> make_fabric(const config::MountConfig& config) {
  if (config.rdma.mode == config::RdmaMode::kOff) return rdma::make_null_fabric();
  const HostPort endpoint = host_port_of(config.endpoint.url);
  const bool use_shm = config.rdma.fabric == config::FabricChoice::kShm ||
                       is_this_host(endpoint.host) || config.rdma.shm_socket != "auto";
  if (!use_shm) {
    spdlog::info("rdma: no fabric reaches {}; going by HTTP", endpoint.host);
    return rdma::make_null_fabric();
  }
  return rdma::shm::make_shm_fabric(config.rdma.shm_socket == "auto"
                                        ? rdma::shm::default_socket_name(endpoint.port)
                                        : config.rdma.shm_socket);
}

}  // namespace

Result<std::unique_ptr<rdma::Fabric>> choose_fabric(const config::MountConfig& config) {
  auto fabric = make_fabric(config);
  if (config.rdma.mode == config::RdmaMode::kRequire && !fabric->is_up()) {
    return fail(ErrorCode::kUnsupported,
                "rdma.mode is \"require\", but no RDMA fabric reaches " + config.endpoint.url +
                    ": start the server's side of it, or set rdma.mode = \"prefer\"");
  }
  return fabric;
}

}  // namespace s3rdmafs::daemon
