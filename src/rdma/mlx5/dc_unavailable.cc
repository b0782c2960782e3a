// SPDX-License-Identifier: Apache-2.0
// Stands in for the other files of this folder in a build without libmlx5.
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/find_rails.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

std::unexpected<Error> refuse() {
  return fail(ErrorCode::kUnsupported,
              "this s3rdmafs was built without libmlx5, which the dc fabric needs; build it with "
              "libibverbs-dev installed, or choose another rdma.fabric");
}

}  // namespace

Result<std::unique_ptr<Fabric>> make_dc_fabric(DcOptions, const Clock&, metrics::Registry&,
                                               verbs::AddressSpace&) {
  return refuse();
}

Result<std::vector<RailPort>> find_rails(const RailWish&, verbs::RouteQuery&) { return refuse(); }

}  // namespace s3rdmafs::rdma::mlx5
