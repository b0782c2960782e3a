// SPDX-License-Identifier: Apache-2.0
// Keeps one session to the shm server alive and every region registered in it.
//
// States. down (no session) -> up (every region has a key, tokens are given) -> down when the
// server hangs up. A server that does not answer an exchange in time makes the session *stuck*: it
// gives no tokens until the server hangs up. This end never closes a session first: that the server
// hangs up proves that its threads no longer touch our memory. That is the fence.
//
// Locks. exchange_mutex_ (order 5a) is held over the bounded exchanges with the server and guards
// the session; state_mutex_ (5b, a leaf) guards what token() reads, so that a token never waits for
// an exchange.
#include "rdma/shm/shm_fabric.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rdma/shm/shm_session.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::shm {
namespace {

// How soon a server that came back is noticed.
constexpr std::chrono::milliseconds kReconnectInterval{500};

class ShmFabric;

class ShmRegion final : public MemoryRegion {
 public:
  ShmRegion(ShmFabric& fabric, const Backing& backing, Access access)
      : fabric_(fabric), backing_(backing), access_(access) {}
  ~ShmRegion() override;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return backing_.bytes; }
  void token(std::size_t offset, std::size_t length, Deadline deadline,
             Done<rdma::Token> done) override;
  [[nodiscard]] Result<void> fence() override;

 private:
  friend class ShmFabric;

  ShmFabric& fabric_;
  const Backing backing_;  // handed over again to every new session
  const Access access_;
  std::atomic<std::uint64_t> key_{0};  // 0: not registered in the present session
};

class ShmFabric final : public Fabric {
 public:
  explicit ShmFabric(std::string socket_name) : socket_name_(std::move(socket_name)) {
    reconnect();
    keeper_ = std::jthread([this](const std::stop_token& stop) { keep_session(stop); });
  }
  ~ShmFabric() override {
    keeper_.request_stop();
    ::eventfd_write(wake_.get(), 1);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
  [[nodiscard]] bool is_up() const noexcept override { return up_.load(); }

  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access access) override {
    auto region = std::make_unique<ShmRegion>(*this, backing, access);
    const MutexLock lock(exchange_mutex_);
    regions_.push_back(region.get());
    if (up_.load()) {
      if (auto registered = register_region(*region); !registered) {
        regions_.pop_back();
        return std::unexpected(registered.error());
      }
    }
    return region;
  }

  [[nodiscard]] Result<Token> token_for(const ShmRegion& region) {
    const MutexLock lock(state_mutex_);
    if (!up_.load() || region.key_.load() == 0) {
      return fail(ErrorCode::kUnreachable, "the shm server is not connected");
    }
    return Token{.session_id = session_id_, .region_key = region.key_.load()};
  }

  [[nodiscard]] Result<void> fence(ShmRegion& region) {
    const MutexLock lock(exchange_mutex_);
    if (auto fenced = deregister(region); !fenced) return fenced;
    if (!up_.load()) return {};  // registered again with the next session
    return register_region(region);
  }

  void remove(ShmRegion& region) {
    const MutexLock lock(exchange_mutex_);
    if (auto fenced = deregister(region); !fenced) {
      log::warn("shm: a memory region stays registered: {}", fenced.error().detail);
    }
    std::erase(regions_, &region);
  }

 private:
  [[nodiscard]] Result<void> register_region(ShmRegion& region) REQUIRES(exchange_mutex_) {
    const auto access =
        region.access_ == Access::kRemoteWrite ? WireAccess::kRemoteWrite : WireAccess::kRemoteRead;
    const Backing& backing = region.backing_;
    const auto key =
        session_->register_region(backing.fd, backing.offset_bytes, backing.bytes.size(), access);
    if (!key) {
      note_failure(key.error());
      return std::unexpected(key.error());
    }
    region.key_.store(*key);
    return {};
  }

  // Success means fenced, also where the server has hung up since.
  [[nodiscard]] Result<void> deregister(ShmRegion& region) REQUIRES(exchange_mutex_) {
    const std::uint64_t key = region.key_.exchange(0);
    if (key == 0 && !stuck_) return {};
    if (stuck_) return fail(ErrorCode::kTimedOut, "the shm server does not answer");
    auto done = session_->deregister_region(key);
    if (done) return {};
    note_failure(done.error());
    if (session_->hung_up(std::chrono::milliseconds(0))) return {};
    return done;
  }

  // After an exchange that failed, answers may no longer match requests.
  void note_failure(const Error& error) REQUIRES(exchange_mutex_) {
    if (stuck_) return;
    log::warn("shm: session with {} broken: {}; giving no tokens until the server hangs up",
              socket_name_, error.detail);
    set_up(false);
    stuck_ = true;
    session_->request_end();
  }

  void set_up(bool up) {
    const MutexLock lock(state_mutex_);
    up_.store(up);
  }

  void keep_session(const std::stop_token& stop) {
    set_thread_name("rdma-shm");
    while (!stop.stop_requested()) {
      if (is_connected()) {
        if (watched_session_hung_up()) forget_session();
      } else {
        pollfd wake{.fd = wake_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&wake, 1, static_cast<int>(kReconnectInterval.count())) <= 0) reconnect();
      }
    }
  }

  [[nodiscard]] bool is_connected() {
    const MutexLock lock(exchange_mutex_);
    return session_ != nullptr;
  }

  // Only this thread replaces session_, so it may look at it without the lock.
  [[nodiscard]] bool watched_session_hung_up() NO_THREAD_SAFETY_ANALYSIS {
    return session_->hung_up(kReconnectInterval, wake_.get());
  }

  void forget_session() {
    const MutexLock lock(exchange_mutex_);
    if (!stuck_)
      log::warn("shm: the server at {} hung up; giving no tokens until it is back", socket_name_);
    set_up(false);
    for (ShmRegion* region : regions_) region->key_.store(0);
    session_.reset();
    stuck_ = false;
  }

  void reconnect() {
    const MutexLock lock(exchange_mutex_);
    auto session = ShmSession::connect(socket_name_);
    if (!session) {
      if (std::exchange(last_problem_, session.error().detail) != session.error().detail) {
        log::warn("shm: {}", session.error().detail);
      }
      return;
    }
    last_problem_.clear();
    session_ = std::make_unique<ShmSession>(std::move(*session));
    for (ShmRegion* region : regions_) {
      if (auto registered = register_region(*region); !registered) return;
    }
    {
      const MutexLock state(state_mutex_);
      session_id_ = session_->id();
      up_.store(true);
    }
    log::info("shm: connected to {}, {} regions registered", socket_name_, regions_.size());
  }

  const std::string socket_name_;

  Mutex exchange_mutex_;  // lock order 5a
  std::unique_ptr<ShmSession> session_ GUARDED_BY(exchange_mutex_);
  std::vector<ShmRegion*> regions_ GUARDED_BY(exchange_mutex_);
  bool stuck_ GUARDED_BY(exchange_mutex_) = false;
  std::string last_problem_ GUARDED_BY(exchange_mutex_);  // so that each problem is logged once

  Mutex state_mutex_;  // lock order 5b: leaf
  SessionId session_id_ GUARDED_BY(state_mutex_){};
  std::atomic<bool> up_{false};  // changes under state_mutex_ only

  // Written once: the end. Without it (no descriptor left) the end takes an interval longer.
  const UniqueFd wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::jthread keeper_;  // last: stopped before anything it uses is gone
};

ShmRegion::~ShmRegion() { fabric_.remove(*this); }

void ShmRegion::token(std::size_t offset, std::size_t length, Deadline, Done<rdma::Token> done) {
  auto token = fabric_.token_for(*this);
  if (!token) return done(std::unexpected(std::move(token.error())));
  token->offset_bytes = offset;
  token->size_bytes = static_cast<std::uint32_t>(length);
  done(rdma::Token(token->to_string()));
}

Result<void> ShmRegion::fence() { return fabric_.fence(*this); }

}  // namespace

std::unique_ptr<Fabric> make_shm_fabric(std::string socket_name) {
  return std::make_unique<ShmFabric>(std::move(socket_name));
}

}  // namespace s3rdmafs::rdma::shm
