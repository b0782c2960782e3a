// SPDX-License-Identifier: Apache-2.0
// One device context, one protection domain, one region of staging memory; a queue pair and its
// completion queue for each session. Members are declared in the order verbs needs: destroyed from
// the last to the first.
//
// A completion is waited for by sleeping on the queue's channel, so that a slow client costs no
// processor.
#include "target/rdma/rc/rc_device.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/rdma/rdma_devices.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::target {
namespace {

namespace verbs = rdma::verbs;

// Transfers under way at once, and how much of each is on its way: 64 MiB of pinned memory feed a
// 100 Gbit/s link, and any user may pin as much where the limit is not the old 64 KiB.
constexpr std::size_t kStagingBuffers = 16;
constexpr std::size_t kStagingBytes = 4 * kMiB;

// The values that the dialect's first server uses (s3rdmafs-protocol(7)) and clients rely on,
// except two: retry_cnt, whose 7 means for ever on soft-RoCE, and the timeout, whose 67 ms (14) a
// client with busy processors does not keep where they, and not a NIC, acknowledge. Seven times a
// quarter of a second outlast that, and lost packets, but not a client that is gone; a longer wait
// would make each lost NAK cost it.
constexpr std::uint8_t kRetryCount = 6;
constexpr std::uint8_t kRnrRetryCount = 7;
constexpr std::uint8_t kTimeoutExponent = 16;  // 4.096 us * 2^16 = 268 ms
constexpr std::uint8_t kMinRnrTimer = 12;
constexpr std::uint8_t kHopLimit = 64;

// One piece of at most kStagingBytes; longer means that the device forgot it.
constexpr std::chrono::seconds kCompletionPatience{30};

/// Pages of our own, mapped for as long as they are registered.
class Memory {
 public:
  explicit Memory(std::size_t size) : size_(size) {
    void* mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED) bytes_ = static_cast<std::byte*>(mapped);
  }
  ~Memory() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const {
    return bytes_ == nullptr ? std::span<std::byte>() : std::span(bytes_, size_);
  }

 private:
  std::size_t size_;
  std::byte* bytes_ = nullptr;
};

/// The addresses that clients are given and that our queue pairs need.
struct LocalPort {
  rdma::rc::Endpoint endpoint;  ///< without a queue pair
  std::uint8_t gid_index = 0;
  ibv_mtu path_mtu = IBV_MTU_1024;
};

class Link final : public RcLink {
 public:
  static Result<std::unique_ptr<Link>> connect(ibv_context* context, ibv_pd* domain,
                                               const LocalPort& local,
                                               const rdma::rc::Endpoint& client,
                                               std::uint32_t client_psn, std::uint32_t own_psn) {
    auto link = std::make_unique<Link>();
    link->channel_.reset(ibv_create_comp_channel(context));
    if (!link->channel_) return fail_errno("ibv_create_comp_channel", errno);
    constexpr int kCompletionsMax = 16;
    link->completions_.reset(
        ibv_create_cq(context, kCompletionsMax, nullptr, link->channel_.get(), 0));
    if (!link->completions_) return fail_errno("ibv_create_cq", errno);
    ibv_qp_init_attr make{};
    make.send_cq = link->completions_.get();
    make.recv_cq = link->completions_.get();
    make.qp_type = IBV_QPT_RC;
    make.cap = {.max_send_wr = 8,
                .max_recv_wr = 8,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    link->pair_.reset(ibv_create_qp(domain, &make));
    if (!link->pair_) return fail_errno("ibv_create_qp", errno);
    if (auto ready = link->make_ready(local, client, client_psn, own_psn); !ready) {
      return std::unexpected(ready.error());
    }
    return link;
  }

  [[nodiscard]] std::uint32_t number() const { return pair_->qp_num; }

  Result<void> write(const StagingBuffer& from, std::size_t length, RemoteMemory to) override {
    return move(IBV_WR_RDMA_WRITE, from, length, to);
  }
  Result<void> read(const StagingBuffer& into, std::size_t length, RemoteMemory from) override {
    return move(IBV_WR_RDMA_READ, into, length, from);
  }

 private:
  Result<void> make_ready(const LocalPort& local, const rdma::rc::Endpoint& client,
                          std::uint32_t client_psn, std::uint32_t own_psn) {
    ibv_qp_attr change{};
    change.qp_state = IBV_QPS_INIT;
    change.port_num = local.endpoint.port;
    // We only ask; a client has no business in our memory.
    change.qp_access_flags = 0;
    if (int error =
            ibv_modify_qp(pair_.get(), &change,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
      return fail_errno("queue pair to INIT", error);
    }
    change = {};
    change.qp_state = IBV_QPS_RTR;
    change.path_mtu = local.path_mtu;
    change.dest_qp_num = client.queue_pair_number;
    change.rq_psn = client_psn;
    change.max_dest_rd_atomic = 1;
    change.min_rnr_timer = kMinRnrTimer;
    change.ah_attr.is_global = 1;
    change.ah_attr.port_num = local.endpoint.port;
    change.ah_attr.grh.sgid_index = local.gid_index;
    change.ah_attr.grh.hop_limit = kHopLimit;
    std::copy(client.gid.begin(), client.gid.end(), change.ah_attr.grh.dgid.raw);
    if (int error =
            ibv_modify_qp(pair_.get(), &change,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
      return fail_errno("queue pair to RTR", error);
    }
    change = {};
    change.qp_state = IBV_QPS_RTS;
    change.sq_psn = own_psn;
    change.timeout = kTimeoutExponent;
    change.retry_cnt = kRetryCount;
    change.rnr_retry = kRnrRetryCount;
    change.max_rd_atomic = 1;
    if (int error = ibv_modify_qp(pair_.get(), &change,
                                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)) {
      return fail_errno("queue pair to RTS", error);
    }
    return {};
  }

  Result<void> move(ibv_wr_opcode opcode, const StagingBuffer& buffer, std::size_t length,
                    RemoteMemory remote) {
    ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(buffer.bytes.data()),
                  .length = static_cast<std::uint32_t>(length),
                  .lkey = buffer.lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = remote.address;
    request.wr.rdma.rkey = remote.rkey;
    // Before the request, or its completion might come unannounced.
    if (int error = ibv_req_notify_cq(completions_.get(), 0)) {
      return fail_errno("ibv_req_notify_cq", error);
    }
    ibv_send_wr* refused = nullptr;
    if (int error = ibv_post_send(pair_.get(), &request, &refused)) {
      return fail_errno("ibv_post_send", error);
    }
    return await_completion();
  }

  Result<void> await_completion() {
    const auto deadline = std::chrono::steady_clock::now() + kCompletionPatience;
    while (true) {
      ibv_wc completion{};
      const int found = ibv_poll_cq(completions_.get(), 1, &completion);
      if (found < 0) return fail(ErrorCode::kSystem, "ibv_poll_cq failed");
      if (found > 0) return judge(completion.status);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return fail(ErrorCode::kTimedOut, "the client does not answer");
      pollfd watched{.fd = channel_->fd, .events = POLLIN, .revents = 0};
      if (::poll(&watched, 1, static_cast<int>(left.count())) <= 0) continue;
      ibv_cq* queue = nullptr;
      void* context = nullptr;
      if (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
        ibv_ack_cq_events(queue, 1);
        if (int error = ibv_req_notify_cq(queue, 0)) return fail_errno("ibv_req_notify_cq", error);
      }
    }
  }

  static Result<void> judge(ibv_wc_status status) {
    switch (status) {
      case IBV_WC_SUCCESS:
        return {};
      case IBV_WC_REM_ACCESS_ERR:
      case IBV_WC_REM_INV_REQ_ERR:
        return fail(ErrorCode::kAccessDenied, "the client's memory does not allow it");
      case IBV_WC_RETRY_EXC_ERR:
      case IBV_WC_RNR_RETRY_EXC_ERR:
        return fail(ErrorCode::kTimedOut, "the client does not answer");
      default:
        return fail(ErrorCode::kUnreachable, ibv_wc_status_str(status));
    }
  }

  verbs::CompletionChannel channel_;
  verbs::CompletionQueue completions_;
  verbs::QueuePair pair_;  // last: destroyed before the memory it writes to
};

class VerbsDevice final : public RcDevice, RcConnector {
 public:
  VerbsDevice(verbs::Context context, LocalPort local)
      : context_(std::move(context)), local_(local) {}

  Result<void> set_up() {
    domain_.reset(ibv_alloc_pd(context_.get()));
    if (!domain_) return fail_errno("ibv_alloc_pd", errno);
    if (memory_.bytes().empty()) return fail(ErrorCode::kNoMemory, "no memory for staging buffers");
    // An int, because ibv_reg_mr is a macro that compares it with another enumeration's.
    const int access = IBV_ACCESS_LOCAL_WRITE;
    region_.reset(
        ibv_reg_mr(domain_.get(), memory_.bytes().data(), memory_.bytes().size(), access));
    if (!region_) {
      if (errno == ENOMEM) {
        return fail(ErrorCode::kNoMemory,
                    fmt::format("{} MiB of staging buffers cannot be locked: raise the limit of "
                                "locked memory (ulimit -l)",
                                memory_.bytes().size() / kMiB));
      }
      return fail_errno("ibv_reg_mr", errno);
    }
    std::vector<StagingBuffer> buffers;
    buffers.reserve(kStagingBuffers);
    for (std::size_t i = 0; i < kStagingBuffers; ++i) {
      buffers.push_back({.bytes = memory_.bytes().subspan(i * kStagingBytes, kStagingBytes),
                         .lkey = region_->lkey});
    }
    staging_.emplace(std::move(buffers));
    return {};
  }

  RcConnector& connector() override { return *this; }
  StagingPool& staging() override { return *staging_; }

 private:
  Result<RcConnection> connect(const rdma::rc::Endpoint& client,
                               std::uint32_t client_psn) override {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random)) std::abort();
    const std::uint32_t psn = 1 + random % rdma::rc::kPsnMax;
    auto link = Link::connect(context_.get(), domain_.get(), local_, client, client_psn, psn);
    if (!link) return std::unexpected(link.error());
    rdma::rc::Endpoint endpoint = local_.endpoint;
    endpoint.queue_pair_number = (*link)->number();
    return RcConnection{.endpoint = endpoint, .psn = psn, .link = std::move(*link)};
  }

  verbs::Context context_;
  LocalPort local_;
  verbs::ProtectionDomain domain_;
  Memory memory_{kStagingBuffers * kStagingBytes};
  verbs::Registration region_;
  std::optional<StagingPool> staging_;
};

/// The address RDMA traffic should have: the one HTTP listens on, of "10.0.0.1:9000" or
/// "[::1]:9000". Listening on every address is content with any port, as loopback is.
std::string rdma_address(const std::string& listen_address) {
  std::string host = listen_address.substr(0, listen_address.rfind(':'));
  std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
  return host == "0.0.0.0" || host == "::" ? "127.0.0.1" : host;
}

struct FreeDeviceList {
  void operator()(ibv_device** list) const noexcept { ibv_free_device_list(list); }
};

Result<verbs::Context> open_device(const std::string& name) {
  int count = 0;
  const std::unique_ptr<ibv_device*[], FreeDeviceList> list(ibv_get_device_list(&count));
  for (std::size_t i = 0; list && i < static_cast<std::size_t>(count); ++i) {
    if (name != ibv_get_device_name(list[i])) continue;
    verbs::Context context(ibv_open_device(list[i]));
    if (!context) return fail_errno("open RDMA device " + name, errno);
    return context;
  }
  return fail(ErrorCode::kNotFound, "RDMA device " + name + " is gone");
}

}  // namespace

Result<std::unique_ptr<RcDevice>> RcDevice::open(const Choice& choice) {
  const auto devices = verbs::list_devices();
  if (!devices) return std::unexpected(devices.error());
  const auto chosen = verbs::choose_port(
      *devices, {.device = choice.name, .port = {}, .gid_index = choice.gid_index},
      rdma_address(choice.address));
  if (!chosen) return std::unexpected(chosen.error());
  auto context = open_device(chosen->device);
  if (!context) return std::unexpected(context.error());
  ibv_port_attr port{};
  if (ibv_query_port(context->get(), chosen->port, &port) != 0) {
    return fail_errno("ask RDMA device " + chosen->device, errno);
  }
  LocalPort local{.endpoint = {.queue_pair_number = 0, .gid = chosen->gid, .port = chosen->port},
                  .gid_index = static_cast<std::uint8_t>(chosen->gid_index),
                  // Nothing negotiates it: both sides take the port's own.
                  .path_mtu = port.active_mtu >= IBV_MTU_512 ? port.active_mtu : IBV_MTU_1024};
  auto device = std::make_unique<VerbsDevice>(std::move(*context), local);
  if (auto ready = device->set_up(); !ready) return std::unexpected(ready.error());
  log::info("rc: {}", chosen->why);
  return device;
}

}  // namespace s3rdmafs::target
