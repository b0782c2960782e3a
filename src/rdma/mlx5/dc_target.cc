// SPDX-License-Identifier: Apache-2.0
//
// The attributes are those that every known client of the same servers uses
// (s3rdmafs-protocol(7)). A target does not go beyond "ready to receive", and the device gives it
// its number only with that step.
//
// Cost. One of each object a rail, for any number of servers and regions; none a transfer.
#include "rdma/mlx5/dc_target.h"

#include <algorithm>
#include <array>

#include <infiniband/mlx5dv.h>

#include "rdma/verbs/open_device.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

// Nothing ever completes and nothing is ever posted, but a target must have both queues.
constexpr int kQueueDepth = 1;

// 0.64 ms (InfiniBand specification, 9.7.5.2.8). Never used, since RDMA writes and reads meet no
// missing receive; what other clients set.
constexpr std::uint8_t kMinRnrTimer = 12;

// The IP default: servers may be some routers away.
constexpr std::uint8_t kHopLimit = 64;

// GET regions are written and PUT regions are read through the same target; what a server may do
// with one is up to the region.
constexpr unsigned kTargetAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

}  // namespace

Result<std::unique_ptr<DcTarget>> DcTarget::open(const RailPort& where, std::uint64_t dc_key) {
  Result<Context> context = verbs::open_device(where.device);
  if (!context) return std::unexpected(std::move(context.error()));
  if (!mlx5dv_is_supported((*context)->device)) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} is not a ConnectX, and only a ConnectX has DC transport; use "
                            "rdma.fabric = \"rc\" with it",
                            where.device));
  }
  std::unique_ptr<DcTarget> target(new DcTarget(where, std::move(*context)));
  if (auto read = target->read_port(); !read) return std::unexpected(std::move(read.error()));
  if (auto made = target->create(dc_key); !made) return std::unexpected(std::move(made.error()));
  if (auto ready = target->make_ready(); !ready) return std::unexpected(std::move(ready.error()));
  if (auto made = verbs::make_events_nonblocking(target->context_.get()); !made) {
    return fail_with_context(where.name(), std::move(made.error()));
  }
  return target;
}

Result<void> DcTarget::read_port() {
  ibv_port_attr port{};
  if (const int error = ibv_query_port(context_.get(), where_.port, &port); error != 0) {
    return fail_errno(fmt::format("{}: query the port", where_.name()), error);
  }
  if (port.state != IBV_PORT_ACTIVE) {
    return fail(ErrorCode::kUnreachable,
                fmt::format("{}: the port is {}", where_.name(), ibv_port_state_str(port.state)));
  }
  mtu_ = port.active_mtu;
  const bool is_infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
  address_.lid = is_infiniband ? port.lid : 0;
  address_.has_gid = where_.gid_index.has_value();
  if (!address_.has_gid) {
    if (is_infiniband) return {};
    return fail(ErrorCode::kNotFound,
                fmt::format("{}: the port has no GID, and RoCE needs one; give its "
                            "interface an IP address",
                            where_.name()));
  }
  ibv_gid gid{};
  const int index = static_cast<int>(*where_.gid_index);
  if (ibv_query_gid(context_.get(), where_.port, index, &gid) != 0) {
    return fail_errno(fmt::format("{}: read GID {}", where_.name(), index), errno);
  }
  std::ranges::copy(gid.raw, address_.gid.begin());
  if (address_.gid == DcAddress{}.gid) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("{}: entry {} of its GID table is empty; set rdma.gid_index to one that "
                    "has an address (s3rdmafs doctor lists them), or to \"auto\"",
                    where_.name(), index));
  }
  return {};
}

Result<void> DcTarget::create(std::uint64_t dc_key) {
  const auto failed = [this](std::string_view what) {
    return fail_errno(fmt::format("{}: create {}", where_.name(), what), errno);
  };
  protection_domain_.reset(ibv_alloc_pd(context_.get()));
  if (!protection_domain_) return failed("a protection domain");
  completion_queue_.reset(ibv_create_cq(context_.get(), kQueueDepth, nullptr, nullptr, 0));
  if (!completion_queue_) return failed("a completion queue");
  ibv_srq_init_attr receive{};
  receive.attr = {.max_wr = kQueueDepth, .max_sge = 1, .srq_limit = 0};
  receive_queue_.reset(ibv_create_srq(protection_domain_.get(), &receive));
  if (!receive_queue_) return failed("a shared receive queue");

  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_DRIVER;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = protection_domain_.get();
  attributes.send_cq = completion_queue_.get();
  attributes.recv_cq = completion_queue_.get();
  attributes.srq = receive_queue_.get();
  mlx5dv_qp_init_attr dc{};
  dc.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  dc.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
  dc.dc_init_attr.dct_access_key = dc_key;
  target_.reset(mlx5dv_create_qp(context_.get(), &attributes, &dc));
  if (!target_) return failed("a DC target");
  return {};
}

Result<void> DcTarget::make_ready() {
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.pkey_index = 0;
  init.port_num = where_.port;
  init.qp_access_flags = kTargetAccess;
  int error = ibv_modify_qp(target_.get(), &init,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) {
    return fail_errno(fmt::format("{}: bring the DC target to INIT", where_.name()), error);
  }
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = mtu_;
  ready.min_rnr_timer = kMinRnrTimer;
  ready.ah_attr.port_num = where_.port;
  ready.ah_attr.sl = where_.marks.service_level;
  if (where_.gid_index) {
    ready.ah_attr.is_global = 1;
    ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(*where_.gid_index);
    ready.ah_attr.grh.hop_limit = kHopLimit;
    ready.ah_attr.grh.traffic_class = where_.marks.traffic_class;
  }
  error = ibv_modify_qp(target_.get(), &ready,
                        IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
  if (error != 0) {
    return fail_errno(fmt::format("{}: bring the DC target to RTR", where_.name()), error);
  }
  address_.dct_number = target_->qp_num;  // only now: zero before
  return {};
}

Result<Registration> DcTarget::register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                               Access access) {
  return verbs::register_memory(protection_domain_.get(), bytes, iova, access);
}

std::optional<DcTarget::Event> DcTarget::next_event() {
  // A server's failed access is not among them: that is the server's problem, not the target's.
  constexpr std::array kFatal{IBV_EVENT_QP_FATAL, IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR};
  return verbs::next_event(context_.get(), where_.port, "dc: " + where_.name(), kFatal);
}

DcTarget::Port DcTarget::port() const {
  const bool is_infiniband = address_.lid != 0;
  return verbs::port_state(context_.get(),
                           {.number = where_.port,
                            .mtu = mtu_,
                            .lid = is_infiniband ? std::optional(address_.lid) : std::nullopt,
                            .gid_index = where_.gid_index,
                            .gid = address_.gid});
}

}  // namespace s3rdmafs::rdma::mlx5
