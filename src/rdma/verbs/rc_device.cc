// SPDX-License-Identifier: Apache-2.0
//
// Attributes: those of the dialect's first server (s3rdmafs-protocol(7)), as far as they apply to a
// side that never sends. Time-outs and retries are set by the server.
//
// Fork. The daemon forks before it opens a device, and nothing later does; registered memory is
// mapped shared, so that even then no page would be copied away from the device.
#include "rdma/verbs/rc_device.h"

#include <algorithm>
#include <cerrno>

#include "rdma/verbs/open_device.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::verbs {
namespace {

constexpr std::uint8_t kHopLimit = 64;     // the IP default: servers may be some routers away
constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms; no receive is ever posted or missed
constexpr std::uint8_t kReadsAtOnce = 1;   // a server has one request in flight a session
constexpr int kQueueDepth = 1;             // nothing completes, but a queue pair must have a queue

// GET slabs are written and PUT slabs are read through the same pair; what a server may do with one
// is up to the slab's registration.
constexpr unsigned kPairAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

}  // namespace

Result<std::shared_ptr<RcDevice>> RcDevice::open(const ChosenPort& where) {
  auto context = open_device(where.device);
  if (!context) return std::unexpected(std::move(context.error()));
  std::shared_ptr<RcDevice> device(new RcDevice(where, std::move(*context)));
  ibv_port_attr port{};
  if (const int error = ibv_query_port(device->context_.get(), where.port, &port)) {
    return fail_errno("query the port of " + where.device, error);
  }
  if (port.state != IBV_PORT_ACTIVE) {
    return fail(ErrorCode::kUnreachable, fmt::format("{} port {} is {}", where.device, where.port,
                                                     ibv_port_state_str(port.state)));
  }
  device->mtu_ = port.active_mtu;
  device->domain_.reset(ibv_alloc_pd(device->context_.get()));
  if (!device->domain_) return fail_errno("ibv_alloc_pd", errno);
  device->completions_.reset(
      ibv_create_cq(device->context_.get(), kQueueDepth, nullptr, nullptr, 0));
  if (!device->completions_) return fail_errno("ibv_create_cq", errno);
  if (auto made = make_events_nonblocking(device->context_.get()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return device;
}

Result<Registration> RcDevice::register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                               Access access) {
  return verbs::register_memory(domain_.get(), bytes, iova, access);
}

Result<QueuePair> RcDevice::make_queue_pair() {
  ibv_qp_init_attr make{};
  make.qp_type = IBV_QPT_RC;
  make.send_cq = completions_.get();
  make.recv_cq = completions_.get();
  make.cap.max_send_wr = 1;
  make.cap.max_recv_wr = 1;
  make.cap.max_send_sge = 1;
  make.cap.max_recv_sge = 1;
  QueuePair pair(ibv_create_qp(domain_.get(), &make));
  if (!pair) return fail_errno("ibv_create_qp", errno);
  ibv_qp_attr change{};
  change.qp_state = IBV_QPS_INIT;
  change.port_num = where_.port;
  change.qp_access_flags = kPairAccess;
  if (const int error =
          ibv_modify_qp(pair.get(), &change,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
    return fail_errno("queue pair to INIT", error);
  }
  return pair;
}

rc::Endpoint RcDevice::endpoint_of(const QueuePair& pair) const {
  return {.queue_pair_number = pair->qp_num, .gid = where_.gid, .port = where_.port};
}

Result<void> RcDevice::connect(const QueuePair& pair, const rc::Endpoint& server,
                               std::uint32_t psn) {
  ibv_qp_attr change{};
  change.qp_state = IBV_QPS_RTR;
  change.path_mtu = mtu_;
  change.dest_qp_num = server.queue_pair_number;
  change.rq_psn = psn;
  change.max_dest_rd_atomic = kReadsAtOnce;
  change.min_rnr_timer = kMinRnrTimer;
  change.ah_attr.is_global = 1;
  change.ah_attr.port_num = where_.port;
  change.ah_attr.sl = where_.marks.service_level;
  change.ah_attr.grh.traffic_class = where_.marks.traffic_class;
  change.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(where_.gid_index);
  change.ah_attr.grh.hop_limit = kHopLimit;
  std::ranges::copy(server.gid, change.ah_attr.grh.dgid.raw);
  if (const int error =
          ibv_modify_qp(pair.get(), &change,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
    return fail_errno(fmt::format("queue pair to RTR towards {}", address_of_gid(server.gid)),
                      error);
  }
  return {};
}

std::optional<DeviceEvent> RcDevice::next_event() {
  return verbs::next_event(context_.get(), where_.port, "rc: " + where_.device);
}

PortState RcDevice::state() const {
  return port_state(
      context_.get(),
      {.number = where_.port, .mtu = mtu_, .gid_index = where_.gid_index, .gid = where_.gid});
}

}  // namespace s3rdmafs::rdma::verbs
