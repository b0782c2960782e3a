// SPDX-License-Identifier: Apache-2.0
//
// Memory. Each region is registered with the device that is open now. When that fails, or its
// address changes, the keeper thread opens it again, registers everything again and has every
// session made again, since a queue pair reaches only memory of its own protection domain.
//
// The fence. fence() deregisters before it registers again, at an address that was never used
// before: devices give the same keys out again (address_space.cc).
//
// Locks. The verbs that register are called under a lock of that region (7b), which only the keeper
// and fence() of the same region wait for. No lock is held while a device is opened. The list of
// regions has its own (7a). token() takes its key's lock and the pool's, both leaves. A device is
// withdrawn before the list is read, and a region is on the list before it asks for the device. So
// the keeper meets every registration that was made or is being made, and waits for the latter.
//
// Cost of a token: the pool's lock, its key's, and two allocations: its text, and the session that
// it gives back.
#include "rdma/verbs/rc_fabric.h"

#include <fcntl.h>

#include <optional>

#include "rdma/verbs/device_keeper.h"
#include "rdma/verbs/device_registration.h"
#include "rdma/verbs/rc_device.h"
#include "rdma/verbs/rc_session_maker.h"
#include "rdma/verbs/region_list.h"
#include "rdma/verbs/session_pool.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::verbs {
namespace {

/// A region's memory and its registration. Shared by the region and whatever thread registers it.
struct RcMemory {
  const std::span<std::byte> bytes;
  const Access access;
  DeviceRegistration<RcDevice> registration = {};
};

class RcFabric final : public Fabric {
 public:
  RcFabric(RcOptions options, const Clock& clock, metrics::Registry& metrics,
           AddressSpace& addresses)
      : options_(std::move(options)),
        clock_(clock),
        metrics_(metrics),
        addresses_(addresses),
        maker_({.endpoint_url = options_.endpoint_url, .connection = options_.connection},
               device_) {}
  ~RcFabric() override { shut_down(); }

  [[nodiscard]] Result<void> start() {
    if (auto opened = open_device(); !opened) return opened;
    pool_.emplace(maker_, options_.sessions_max, clock_, metrics_);
    return keeper_.start("rdma-rc-device", [this] { return events(); }, [this] { keep_device(); });
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "rc"; }
  [[nodiscard]] bool is_up() const noexcept override { return pool_->is_up(); }
  void shut_down() override {
    if (pool_) pool_->shut_down();
  }

  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access access) override;

  [[nodiscard]] SessionPool& pool() { return *pool_; }

  [[nodiscard]] Result<void> fence(RcMemory& memory) {
    // Where the key stays alive, the keeper goes on trying.
    if (auto gone = memory.registration.end(Next::kNothing); !gone) {
      memory.registration.want();
      return gone;
    }
    return register_memory_of(memory);
  }

  void remove(const std::shared_ptr<RcMemory>& memory) {
    if (auto gone = memory->registration.end(Next::kNothing); !gone) {
      log::warn("rc: {}", gone.error().detail);
    }
    regions_.remove(memory);
  }

 private:
  using Next = DeviceRegistration<RcDevice>::Next;

  [[nodiscard]] Result<void> open_device();
  // While no device is open this does nothing: the keeper registers the memory later.
  [[nodiscard]] Result<void> register_memory_of(RcMemory& memory);

  [[nodiscard]] UniqueFd events() const;
  void keep_device();
  void take_events();
  void on_state(PortState state);
  void give_up_device(std::string_view why);
  void bring_back_device();
  // Memory that cannot be registered goes by HTTP, and the keeper tries again.
  void register_missing();

  const RcOptions options_;
  const Clock& clock_;
  metrics::Registry& metrics_;
  AddressSpace& addresses_;
  CurrentDevice device_;
  RcSessionMaker maker_;
  std::optional<SessionPool> pool_;
  RegionList<RcMemory> regions_;
  bool port_is_down_ = false;  // the keeper's
  unsigned missing_ = 0;       // the keeper's: regions that could not be registered

  DeviceKeeper keeper_;  // last: stopped before anything it uses is gone
};

class RcRegion final : public ListedRegion<RcFabric, RcMemory> {
 public:
  using ListedRegion::ListedRegion;
  void token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) override;
  void drop_sessions() override { fabric().pool().drop_all(); }
};

Result<std::unique_ptr<MemoryRegion>> RcFabric::register_memory(const Backing& backing,
                                                                Access access) {
  auto memory = std::make_shared<RcMemory>(backing.bytes, access);
  auto region = std::make_unique<RcRegion>(*this, memory);  // takes it off the list again
  regions_.add(memory);
  if (auto registered = register_memory_of(*memory); !registered) {
    return std::unexpected(std::move(registered.error()));
  }
  return region;
}

Result<void> RcFabric::open_device() {
  auto source = source_address_towards(options_.endpoint_host, options_.endpoint_port);
  if (!source) return std::unexpected(std::move(source.error()));
  auto devices = list_devices();
  if (!devices) return std::unexpected(std::move(devices.error()));
  auto chosen = choose_port(*devices, options_.port, *source);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  auto device = RcDevice::open(*chosen);
  if (!device) return std::unexpected(std::move(device.error()));
  log::info("rc: {}", chosen->why);
  for (const DeviceInfo& other : *devices) {
    if (other.hindrance.empty()) continue;
    log::warn("rc: {} {}; not using it", other.name, other.hindrance);
  }
  device_.set(std::move(*device));
  return {};
}

Result<void> RcFabric::register_memory_of(RcMemory& memory) {
  memory.registration.want();
  return memory.registration.make([this] { return device_.get(); }, memory.bytes, memory.access,
                                  addresses_);
}

// A descriptor of its own, as the keeper closes it after each wait.
UniqueFd RcFabric::events() const {
  const std::shared_ptr<RcDevice> device = device_.get();
  return device ? UniqueFd(::fcntl(device->event_fd(), F_DUPFD_CLOEXEC, 0)) : UniqueFd();
}

void RcFabric::keep_device() {
  if (device_.get()) {
    take_events();
    register_missing();
  }
  // A device that has just failed may work again at once: often its driver restarted it.
  if (!device_.get()) bring_back_device();
}

void RcFabric::take_events() {
  const std::shared_ptr<RcDevice> device = device_.get();
  bool look = port_is_down_;  // there may be no event when it is back
  while (const auto event = device->next_event()) {
    if (*event == DeviceEvent::kBroken) return give_up_device("the device failed");
    look = true;
  }
  if (look) on_state(device->state());
}

void RcFabric::on_state(PortState state) {
  if (state == PortState::kChanged) return give_up_device("the port has another address");
  const bool is_down = state == PortState::kDown;
  if (is_down == port_is_down_) return;
  port_is_down_ = is_down;
  log::warn("rc: the port is {}", is_down ? "down; going by HTTP where that works" : "back");
  pool_->restart(!is_down);
}

void RcFabric::give_up_device(std::string_view why) {
  log::warn("rc: {}; opening it again", why);
  device_.set(nullptr);
  pool_->restart(false);
  for (const auto& memory : regions_.all()) {
    if (auto gone = memory->registration.end(Next::kAnother); !gone) {
      log::warn("rc: {}", gone.error().detail);
    }
  }
}

void RcFabric::bring_back_device() {
  if (auto opened = open_device(); !opened) {
    log::debug("rc: {}", opened.error().detail);
    return;
  }
  register_missing();
  port_is_down_ = false;
  pool_->restart(true);
}

void RcFabric::register_missing() {
  unsigned missing = 0;
  std::string why;
  for (const auto& memory : regions_.all()) {
    // The device's events must not wait for another thread's registration: next round.
    if (memory->registration.is_busy()) continue;
    const auto registered = memory->registration.make([this] { return device_.get(); },
                                                      memory->bytes, memory->access, addresses_);
    if (registered) continue;
    ++missing;
    why = registered.error().detail;
  }
  if (missing > 0 && missing != missing_) {
    log::warn("rc: {} memory regions cannot be registered: {}; using HTTP for them", missing, why);
  }
  missing_ = missing;
}

void RcRegion::token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) {
  fabric().pool().acquire(deadline, [this, offset, length, done = std::move(done)](
                                        Result<SessionPool::Lease> lease) mutable {
    if (!lease) return done(std::unexpected(std::move(lease.error())));
    const auto key = memory().registration.key();
    SessionPool& pool = fabric().pool();
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
