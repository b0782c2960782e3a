// SPDX-License-Identifier: Apache-2.0
//
// Attributes: those of the dialect's first server (s3rdmafs-protocol(7)), as far as a side
// that never sends has any. Its time-outs and retries are the server's business.
//
// Fork. The daemon forks before it opens a device, and nothing later does; registered memory is
// mapped shared, so that even then no page would be copied away from the device.
#include "rdma/verbs/rc_device.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "rdma/verbs/open_device.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::verbs {
namespace {

constexpr std::uint8_t kHopLimit = 64;     // the IP default: servers may be some routers away
constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms; no receive is ever posted or missed
constexpr std::uint8_t kReadsAtOnce = 1;   // a server has one request in flight a session
constexpr int kQueueDepth = 1;             // nothing completes, but a queue pair has to have one

// GET slabs are written and PUT slabs are read through the same pair; what a server may do with one
// is up to the slab's registration.
constexpr unsigned kPairAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

unsigned access_flags(Access access) {
  // The verbs want local write beside remote write.
  if (access == Access::kRemoteWrite) return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  return IBV_ACCESS_REMOTE_READ;
}

}  // namespace

Result<std::shared_ptr<RcDevice>> RcDevice::open(const ChosenPort& where) {
  auto context = open_device(where.device);
  if (!context) return std::unexpected(std::move(context.error()));
  std::shared_ptr<RcDevice> device(new RcDevice(where, std::move(*context)));
  ibv_port_attr port{};
  if (const int error = ibv_query_port(device->context_.get(), where.port, &port)) {
    return fail_errno("ask the port of " + where.device, error);
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
  const int flags = ::fcntl(device->event_fd(), F_GETFL);
  if (flags < 0 || ::fcntl(device->event_fd(), F_SETFL, flags | O_NONBLOCK) < 0) {
    return fail_errno("make the device's events non-blocking", errno);
  }
  return device;
}

Result<Registration> RcDevice::register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                               Access access) {
  return verbs::register_memory(domain_.get(), bytes, iova, access_flags(access));
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

std::optional<RcDevice::Event> RcDevice::next_event() {
  ibv_async_event event{};
  while (ibv_get_async_event(context_.get(), &event) == 0) {
    // At once: an object is not destroyed before all its events are acknowledged.
    ibv_ack_async_event(&event);
    switch (event.event_type) {
      case IBV_EVENT_DEVICE_FATAL:
        spdlog::warn("rc: {}: {}", where_.device, ibv_event_type_str(event.event_type));
        return Event::kBroken;
      case IBV_EVENT_PORT_ACTIVE:
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_LID_CHANGE:
      case IBV_EVENT_GID_CHANGE:
      case IBV_EVENT_PKEY_CHANGE:
      case IBV_EVENT_CLIENT_REREGISTER:
        if (event.element.port_num != where_.port) break;  // of a neighbour
        return Event::kPortMayDiffer;
      default:
        // A single pair's trouble: the request that used it will tell.
        spdlog::debug("rc: {}: {}", where_.device, ibv_event_type_str(event.event_type));
    }
  }
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  return Event::kBroken;  // the device was taken out of the machine
}

RcDevice::State RcDevice::state() const {
  ibv_port_attr port{};
  if (ibv_query_port(context_.get(), where_.port, &port) != 0) return State::kDown;
  if (port.state != IBV_PORT_ACTIVE) return State::kDown;
  if (port.active_mtu != mtu_) return State::kChanged;
  ibv_gid gid{};
  const bool is_same =
      ibv_query_gid(context_.get(), where_.port, static_cast<int>(where_.gid_index), &gid) == 0 &&
      std::ranges::equal(gid.raw, where_.gid);
  return is_same ? State::kAsOpened : State::kChanged;
}

}  // namespace s3rdmafs::rdma::verbs
