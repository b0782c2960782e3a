// SPDX-License-Identifier: Apache-2.0
//
// The functions of libmlx5, as forwarded_verbs.cc has those of libibverbs. Without the library no
// device counts as a ConnectX.
#include <infiniband/mlx5dv.h>

#include "rdma/loader/forward.h"
#include "rdma/loader/functions.h"

extern "C" {

#define FORWARD(result, name, parameters, arguments) \
  S3RDMAFS_FORWARD(mlx5_library, result, name, parameters, arguments)
S3RDMAFS_MLX5_VERBS(FORWARD)
#undef FORWARD

}  // extern "C"
