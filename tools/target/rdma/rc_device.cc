// SPDX-License-Identifier: Apache-2.0
// One device context, one protection domain, one region of staging memory; a queue pair and its
// completion queue for each session. Members are declared in the order verbs needs: destroyed from
// the last to the first.
//
// A completion is waited for by sleeping on the queue's channel, so that a slow client costs no
// processor.
#include "target/rdma/rc_device.h"

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

namespace s3rdmafs::target {
namespace {

// Transfers under way at once, and how much of each is on its way: 64 MiB of pinned memory feed a
// 100 Gbit/s link, and any user may pin as much where the limit is not the old 64 KiB.
constexpr std::size_t kStagingBuffers = 16;
constexpr std::size_t kStagingBytes = 4 * kMiB;

// What the dialect's first server uses (rc-dialects.md section 2.3) and clients rely on, except
// retry_cnt: its 7 means for ever on soft-RoCE. 6 retries of 67 ms outlast lost packets, not a
// client that is gone.
constexpr std::uint8_t kRetryCount = 6;
constexpr std::uint8_t kRnrRetryCount = 7;
constexpr std::uint8_t kTimeoutExponent = 14;  // 4.096 us * 2^14 = 67 ms
constexpr std::uint8_t kMinRnrTimer = 12;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kPsnMax = 0xfffffe;

// One piece of at most kStagingBytes; longer means that the device forgot it.
constexpr std::chrono::seconds kCompletionPatience{30};

template <auto Destroy>
struct VerbsDeleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};
using Context = std::unique_ptr<ibv_context, VerbsDeleter<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, VerbsDeleter<ibv_dealloc_pd>>;
using Region = std::unique_ptr<ibv_mr, VerbsDeleter<ibv_dereg_mr>>;
using Channel = std::unique_ptr<ibv_comp_channel, VerbsDeleter<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, VerbsDeleter<ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, VerbsDeleter<ibv_destroy_qp>>;

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

/// A port's address that clients are given.
struct LocalPort {
  std::uint8_t number = 1;
  std::uint8_t gid_index = 0;
  RcEndpoint endpoint;
  ibv_mtu path_mtu = IBV_MTU_1024;
};

class Link final : public RcLink {
 public:
  static Result<std::unique_ptr<Link>> connect(ibv_context* context, ibv_pd* domain,
                                               const LocalPort& local, const RcEndpoint& client,
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
  Result<void> make_ready(const LocalPort& local, const RcEndpoint& client,
                          std::uint32_t client_psn, std::uint32_t own_psn) {
    ibv_qp_attr change{};
    change.qp_state = IBV_QPS_INIT;
    change.port_num = local.number;
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
    change.ah_attr.port_num = local.number;
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

  Channel channel_;
  CompletionQueue completions_;
  QueuePair pair_;  // last: gone before what it writes to
};

class VerbsDevice final : public RcDevice, RcConnector {
 public:
  VerbsDevice(Context context, LocalPort local) : context_(std::move(context)), local_(local) {}

  Result<void> set_up() {
    domain_.reset(ibv_alloc_pd(context_.get()));
    if (!domain_) return fail_errno("ibv_alloc_pd", errno);
    if (memory_.bytes().empty()) return fail(ErrorCode::kNoMemory, "no memory for staging buffers");
    region_.reset(ibv_reg_mr(domain_.get(), memory_.bytes().data(), memory_.bytes().size(),
                             IBV_ACCESS_LOCAL_WRITE));
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
  Result<RcConnection> connect(const RcEndpoint& client, std::uint32_t client_psn) override {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random)) std::abort();
    const std::uint32_t psn = 1 + random % kPsnMax;
    auto link = Link::connect(context_.get(), domain_.get(), local_, client, client_psn, psn);
    if (!link) return std::unexpected(link.error());
    RcEndpoint endpoint = local_.endpoint;
    endpoint.queue_pair_number = (*link)->number();
    return RcConnection{.endpoint = endpoint, .psn = psn, .link = std::move(*link)};
  }

  Context context_;
  LocalPort local_;
  ProtectionDomain domain_;
  Memory memory_{kStagingBuffers * kStagingBytes};
  Region region_;
  std::optional<StagingPool> staging_;
};

/// The GID of an IPv4 or IPv6 address, from "10.0.0.1:9000" or "[::1]:9000".
std::optional<std::array<std::uint8_t, 16>> gid_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
  if (host.find(':') == std::string::npos) host = "::ffff:" + host;
  std::array<std::uint8_t, 16> gid{};
  if (::inet_pton(AF_INET6, host.c_str(), gid.data()) != 1) return std::nullopt;
  return gid;
}

bool is_zero(const ibv_gid& gid) {
  return std::ranges::all_of(gid.raw, [](std::uint8_t byte) { return byte == 0; });
}

/// The port and GID to offer: the index given; else the RoCE v2 entry of our address; else, where
/// the device was named, the first of RoCE v2, else the first.
std::optional<LocalPort> choose_port(ibv_context* context, const RcDevice::Choice& choice) {
  const auto wanted = gid_of(choice.address);
  ibv_device_attr device{};
  if (ibv_query_device(context, &device) != 0) return std::nullopt;
  std::optional<LocalPort> best;
  int best_rank = 0;
  for (std::uint8_t number = 1; number <= device.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (ibv_query_port(context, number, &port) != 0 || port.state != IBV_PORT_ACTIVE) continue;
    for (int index = 0; index < port.gid_tbl_len; ++index) {
      ibv_gid_entry entry{};
      if (ibv_query_gid_ex(context, number, static_cast<std::uint32_t>(index), &entry, 0) != 0) {
        continue;
      }
      if (is_zero(entry.gid)) continue;
      const bool is_ours = wanted && std::ranges::equal(*wanted, entry.gid.raw);
      const bool is_v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
      if (choice.gid_index && *choice.gid_index != index) continue;
      if (choice.name.empty() && !is_ours && !choice.gid_index) continue;
      const int rank = 1 + (is_ours ? 2 : 0) + (is_v2 ? 1 : 0);
      if (rank <= best_rank) continue;
      best_rank = rank;
      LocalPort local;
      local.number = number;
      local.gid_index = static_cast<std::uint8_t>(index);
      local.endpoint.port = number;
      std::copy_n(entry.gid.raw, local.endpoint.gid.size(), local.endpoint.gid.begin());
      local.path_mtu = std::max(port.active_mtu, IBV_MTU_512);
      best = local;
    }
  }
  return best;
}

struct DeviceListDeleter {
  void operator()(ibv_device** list) const noexcept { ibv_free_device_list(list); }
};

}  // namespace

Result<std::unique_ptr<RcDevice>> RcDevice::open(const Choice& choice) {
  int count = 0;
  const std::unique_ptr<ibv_device*[], DeviceListDeleter> list(ibv_get_device_list(&count));
  for (int i = 0; list && i < count; ++i) {
    const std::string name = ibv_get_device_name(list[i]);
    if (!choice.name.empty() && name != choice.name) continue;
    Context context(ibv_open_device(list[i]));
    if (!context) return fail_errno("open RDMA device " + name, errno);
    const auto local = choose_port(context.get(), choice);
    if (!local) continue;
    auto device = std::make_unique<VerbsDevice>(std::move(context), *local);
    if (auto ready = device->set_up(); !ready) return std::unexpected(ready.error());
    spdlog::info("rc: device {}, port {}, GID index {}", name, local->number, local->gid_index);
    return device;
  }
  if (choice.name.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no RDMA device has the address of {}", choice.address));
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no RDMA device {} with an active port and such a GID "
                          "(ibv_devinfo -v shows what there is)",
                          choice.name));
}

}  // namespace s3rdmafs::target
