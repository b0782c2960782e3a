// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <infiniband/verbs.h>

namespace s3rdmafs::rdma::verbs {

/// Ends an object's life with the verb for it.
template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const noexcept {
    kDestroy(object);
  }
};

// Owners of libibverbs objects. Declare several in this order, so that they are destroyed in
// reverse: the kernel refuses to destroy an object that another still uses.
using DeviceList =
    std::unique_ptr<ibv_device*[], Destroy<ibv_free_device_list>>;  // nullptr ends it
using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, Destroy<ibv_destroy_srq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;
using Registration = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;

}  // namespace s3rdmafs::rdma::verbs
