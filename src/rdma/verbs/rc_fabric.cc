// SPDX-License-Identifier: Apache-2.0
//
// Memory. Each region is registered with the device that is open now; the watcher opens another one
// when that fails or its address changes, registers everything again, and has every session made
// again, for a queue pair reaches only memory of its own protection domain.
//
// The fence. fence() deregisters before it registers again, at an address that was never used
// before: devices give the same keys out again (address_space.cc).
//
// Locks. The verbs that register are called under a lock of that region (7b), which nobody else
// waits for; no lock is held while a device is opened. The list of regions has its own (7a).
// token() takes its key's lock and the pool's, both leaves. A device is withdrawn before the list
// is read, and a region is on the list before it asks for the device: so the watcher meets every
// registration that was made or is being made, and waits for the latter.
//
// Cost of a token: the pool's lock, its key's, and two allocations: its text, and the session
// it gives back.
#include "rdma/verbs/rc_fabric.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "rdma/verbs/device_registration.h"
#include "rdma/verbs/rc_control.h"
#include "rdma/verbs/rc_device.h"
#include "rdma/verbs/session_pool.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// How soon a device or port that came back is noticed where it sends no event.
constexpr std::chrono::milliseconds kRepairInterval{1000};

/// The device that is open now. Thread-safe.
class CurrentDevice {
 public:
  [[nodiscard]] std::shared_ptr<RcDevice> get() const {
    const MutexLock lock(mutex_);
    return device_;
  }
  void set(std::shared_ptr<RcDevice> device) {
    const MutexLock lock(mutex_);
    device_ = std::move(device);
  }

 private:
  mutable Mutex mutex_;  // lock order 7c: leaf
  std::shared_ptr<RcDevice> device_ GUARDED_BY(mutex_);
};

class RcSession final : public Session {
 public:
  RcSession(std::shared_ptr<RcDevice> device, QueuePair pair, std::string id)
      : device_(std::move(device)), pair_(std::move(pair)), id_(std::move(id)) {}
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }

 private:
  std::shared_ptr<RcDevice> device_;  // outlives the pair
  QueuePair pair_;
  const std::string id_;
};

class RcSessionMaker final : public SessionMaker {
 public:
  RcSessionMaker(RcControl::Options options, const CurrentDevice& device)
      : control_(std::move(options)), device_(device) {}

  Result<std::unique_ptr<Session>> connect() override {
    std::shared_ptr<RcDevice> device = device_.get();
    if (!device) return fail(ErrorCode::kUnreachable, "the RDMA device is down");
    auto pair = device->make_queue_pair();
    if (!pair) return std::unexpected(std::move(pair.error()));
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random)) {
      return fail_errno("getrandom", errno);
    }
    auto accepted = control_.connect(device->endpoint_of(*pair), 1 + random % rc::kPsnMax);
    if (!accepted) return std::unexpected(std::move(accepted.error()));
    if (auto ready = device->connect(*pair, accepted->server, accepted->server_psn); !ready) {
      return std::unexpected(std::move(ready.error()));
    }
    return std::make_unique<RcSession>(std::move(device), std::move(*pair),
                                       std::move(accepted->session_id));
  }
  void disconnect(const std::string& session_id) override { control_.disconnect(session_id); }
  void cancel() noexcept override { control_.cancel(); }

 private:
  RcControl control_;
  const CurrentDevice& device_;
};

class RcFabric;

/// A region's memory and its registration. Shared by the region and whoever is at work on it.
struct RcMemory {
  const std::span<std::byte> bytes;
  const Access access;
  DeviceRegistration<RcDevice> registration = {};
};

class RcRegion final : public MemoryRegion {
 public:
  RcRegion(RcFabric& fabric, std::shared_ptr<RcMemory> memory)
      : fabric_(fabric), memory_(std::move(memory)) {}
  ~RcRegion() override;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_->bytes; }
  void token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) override;
  void drop_sessions() override;
  [[nodiscard]] Result<void> fence() override;

 private:
  RcFabric& fabric_;
  const std::shared_ptr<RcMemory> memory_;
};

class RcFabric final : public Fabric {
 public:
  RcFabric(RcOptions options, const Clock& clock, metrics::Registry& metrics,
           AddressSpace& addresses)
      : options_(std::move(options)),
        clock_(clock),
        metrics_(metrics),
        addresses_(addresses),
        maker_({.endpoint_url = options_.endpoint_url, .ca_file = options_.ca_file}, device_) {}
  ~RcFabric() override {
    shut_down();
    watcher_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

  [[nodiscard]] Result<void> start() {
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) return fail_errno("eventfd", errno);
    if (auto opened = open_device(); !opened) return opened;
    pool_.emplace(maker_, options_.sessions_max, clock_, metrics_);
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    return {};
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "rc"; }
  [[nodiscard]] bool is_up() const noexcept override { return pool_->is_up(); }
  void shut_down() override {
    if (pool_) pool_->shut_down();
  }

  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access access) override {
    auto memory = std::make_shared<RcMemory>(backing.bytes, access);
    auto region = std::make_unique<RcRegion>(*this, memory);  // takes it off the list again
    {
      const MutexLock lock(memory_mutex_);
      memory_.push_back(memory);
    }
    if (auto registered = register_memory_of(*memory); !registered) {
      return std::unexpected(std::move(registered.error()));
    }
    return region;
  }

  [[nodiscard]] SessionPool& pool() { return *pool_; }

  [[nodiscard]] Result<void> fence(RcMemory& memory) {
    // Where the key cannot be taken back, the watcher goes on trying.
    if (auto gone = memory.registration.end(Next::kNothing); !gone) {
      memory.registration.want();
      return gone;
    }
    return register_memory_of(memory);
  }

  void remove(const std::shared_ptr<RcMemory>& memory) {
    if (auto gone = memory->registration.end(Next::kNothing); !gone) {
      spdlog::warn("rc: {}", gone.error().detail);
    }
    const MutexLock lock(memory_mutex_);
    std::erase(memory_, memory);
  }

 private:
  using Next = DeviceRegistration<RcDevice>::Next;

  [[nodiscard]] Result<void> open_device();
  // Where no device is open, the watcher registers it when there is one.
  [[nodiscard]] Result<void> register_memory_of(RcMemory& memory);
  [[nodiscard]] std::vector<std::shared_ptr<RcMemory>> all_memory() const {
    const MutexLock lock(memory_mutex_);
    return memory_;
  }

  void watch(const std::stop_token& stop);
  void take_events();
  void on_state(RcDevice::State state);
  void give_up_device(std::string_view why);
  void bring_back_device();
  /// Where that failed, the memory goes by HTTP and the watcher tries again.
  void register_missing();

  const RcOptions options_;
  const Clock& clock_;
  metrics::Registry& metrics_;
  AddressSpace& addresses_;
  CurrentDevice device_;
  RcSessionMaker maker_;
  std::optional<SessionPool> pool_;
  bool port_is_down_ = false;  // the watcher's
  unsigned missing_ = 0;       // the watcher's: regions that could not be registered

  mutable Mutex memory_mutex_;  // lock order 7a
  std::vector<std::shared_ptr<RcMemory>> memory_ GUARDED_BY(memory_mutex_);

  UniqueFd wake_;         // an eventfd: the end is near
  std::jthread watcher_;  // last: stopped before anything it uses is gone
};

Result<void> RcFabric::open_device() {
  auto source = source_address_towards(options_.endpoint_host, options_.endpoint_port);
  if (!source) return std::unexpected(std::move(source.error()));
  auto devices = list_devices();
  if (!devices) return std::unexpected(std::move(devices.error()));
  auto chosen = choose_port(*devices, options_.port, *source);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  auto device = RcDevice::open(*chosen);
  if (!device) return std::unexpected(std::move(device.error()));
  spdlog::info("rc: {}", chosen->why);
  for (const DeviceInfo& other : *devices) {
    if (other.hindrance.empty()) continue;
    spdlog::warn("rc: {} {}; going on without it", other.name, other.hindrance);
  }
  device_.set(std::move(*device));
  return {};
}

Result<void> RcFabric::register_memory_of(RcMemory& memory) {
  memory.registration.want();
  return memory.registration.make([this] { return device_.get(); }, memory.bytes, memory.access,
                                  addresses_);
}

void RcFabric::watch(const std::stop_token& stop) {
  set_thread_name("rdma-rc-device");
  while (!stop.stop_requested()) {
    const std::shared_ptr<RcDevice> device = device_.get();
    std::vector<pollfd> watched{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    if (device) watched.push_back({.fd = device->event_fd(), .events = POLLIN, .revents = 0});
    ::poll(watched.data(), watched.size(), static_cast<int>(kRepairInterval.count()));
    if (stop.stop_requested()) return;
    if (device) {
      take_events();
      register_missing();
    }
    // A device that has just failed may work again at once: often its driver restarted it.
    if (!device_.get()) bring_back_device();
  }
}

void RcFabric::take_events() {
  const std::shared_ptr<RcDevice> device = device_.get();
  bool look = port_is_down_;  // where no event tells that it is back
  while (const auto event = device->next_event()) {
    if (*event == RcDevice::Event::kBroken) return give_up_device("the device failed");
    look = true;
  }
  if (look) on_state(device->state());
}

void RcFabric::on_state(RcDevice::State state) {
  if (state == RcDevice::State::kChanged) return give_up_device("the port has another address");
  const bool is_down = state == RcDevice::State::kDown;
  if (is_down == port_is_down_) return;
  port_is_down_ = is_down;
  spdlog::warn("rc: the port is {}", is_down ? "down; going by HTTP where that works" : "back");
  pool_->restart(!is_down);
}

void RcFabric::give_up_device(std::string_view why) {
  spdlog::warn("rc: {}; opening it again", why);
  device_.set(nullptr);
  pool_->restart(false);
  for (const auto& memory : all_memory()) {
    if (auto gone = memory->registration.end(Next::kAnother); !gone) {
      spdlog::warn("rc: {}", gone.error().detail);
    }
  }
}

void RcFabric::bring_back_device() {
  if (auto opened = open_device(); !opened) {
    spdlog::debug("rc: {}", opened.error().detail);
    return;
  }
  register_missing();
  port_is_down_ = false;
  pool_->restart(true);
}

void RcFabric::register_missing() {
  unsigned missing = 0;
  std::string why;
  for (const auto& memory : all_memory()) {
    // The device's events must not wait for another thread's registration; the next round sees to
    // it.
    if (memory->registration.is_busy()) continue;
    const auto registered = memory->registration.make([this] { return device_.get(); },
                                                      memory->bytes, memory->access, addresses_);
    if (registered) continue;
    ++missing;
    why = registered.error().detail;
  }
  if (missing > 0 && missing != missing_) {
    spdlog::warn("rc: {} pieces of memory are not registered, and go by HTTP: {}", missing, why);
  }
  missing_ = missing;
}

RcRegion::~RcRegion() { fabric_.remove(memory_); }

void RcRegion::token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) {
  fabric_.pool().acquire(deadline, [this, offset, length, done = std::move(done)](
                                       Result<SessionPool::Lease> lease) mutable {
    if (!lease) return done(std::unexpected(std::move(lease.error())));
    const auto key = memory_->registration.key();
    SessionPool& pool = fabric_.pool();
    if (!key) {
      pool.give_back(std::move(*lease), TokenFate::kUnsent);
      return done(fail(ErrorCode::kUnreachable, "the memory is not registered at present"));
    }
    std::string text = rc::format_object_token({.session_id = lease->session->id(),
                                                .address = key->address + offset,
                                                .size_bytes = length,
                                                .rkey = key->rkey});
    done(Token(std::move(text), [&pool, lease = std::move(*lease)](TokenFate fate) mutable {
      pool.give_back(std::move(lease), fate);
    }));
  });
}

void RcRegion::drop_sessions() { fabric_.pool().drop_all(); }

Result<void> RcRegion::fence() { return fabric_.fence(*memory_); }

}  // namespace

Result<std::unique_ptr<Fabric>> make_rc_fabric(RcOptions options, const Clock& clock,
                                               metrics::Registry& metrics,
                                               AddressSpace& addresses) {
  auto fabric = std::make_unique<RcFabric>(std::move(options), clock, metrics, addresses);
  if (auto started = fabric->start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return fabric;
}

}  // namespace s3rdmafs::rdma::verbs
