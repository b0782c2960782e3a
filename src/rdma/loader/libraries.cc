// SPDX-License-Identifier: Apache-2.0
//
// Which libraries, and what is asked of them. An old one is refused when it is opened, not by a
// call in the middle of a transfer.
#include <array>

#include "rdma/loader/functions.h"
#include "rdma/loader/loaded_library.h"

namespace s3rdmafs::rdma::loader {
namespace {

#define NAME(result, name, parameters, arguments) #name,
constexpr std::array kVerbs = {S3RDMAFS_VERBS(NAME)};
constexpr std::array kMlx5Verbs = {S3RDMAFS_MLX5_VERBS(NAME)};
#undef NAME

}  // namespace

const LoadedLibrary& verbs_library() {
  static const LoadedLibrary library("libibverbs.so.1", kVerbs,
                                     "RDMA by devices needs rdma-core 33 or later (Debian: "
                                     "libibverbs1 and ibverbs-providers; RHEL: "
                                     "libibverbs), or the driver package of the cards' maker");
  return library;
}

const LoadedLibrary& mlx5_library() {
  static const LoadedLibrary library("libmlx5.so.1", kMlx5Verbs,
                                     "fabric dc needs rdma-core 33 or later (Debian: "
                                     "ibverbs-providers; RHEL: libibverbs), or the driver "
                                     "package of the cards' maker");
  return library;
}

}  // namespace s3rdmafs::rdma::loader
