// SPDX-License-Identifier: Apache-2.0
// Registers every region on every rail, and deals the rails out to tokens: to each the one with the
// fewest bytes outstanding.
//
// Rails. A rail is closed, up or down (rail.h). The keeper thread takes in the devices' events and
// about once a second tries what is closed or down again; a rail that has to be torn down loses
// every registration first. A region that could not be registered on a rail (locked-memory limit)
// goes by the others, and is tried again with the same beat.
//
// The fence. renew() deregisters on every rail before it registers again, at addresses that were
// never used before: devices give the same keys out again (verbs/address_space.cc). Where
// deregistering fails, the rail is closed, which takes its keys with it: closing the device is the
// kernel's last word on all that was made through it.
//
// Locks. memory_mutex_ (order 6a) is held over registrations and the opening of devices, and guards
// rails and registrations. token() takes no more than a rail's own lock (6b).
//
// Cost of a token: that lock and its key's, one allocation (its text).
#include "rdma/mlx5/dc_fabric.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "rdma/mlx5/dc_target.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/mlx5/rail.h"
#include "rdma/verbs/token_key.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

// How soon a device that came back is noticed where it sends no event.
constexpr std::chrono::milliseconds kRepairInterval{1000};

class DcFabric;

class DcRegion final : public MemoryRegion {
 public:
  DcRegion(DcFabric& fabric, const Backing& backing, Access access, std::size_t rails)
      : fabric_(fabric), bytes_(backing.bytes), access_(access), on_rail_(rails) {}
  ~DcRegion() override;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }
  void token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) override;
  [[nodiscard]] Result<void> renew() override;

 private:
  friend class DcFabric;

  struct OnRail {
    Registration region;  // under the fabric's memory_mutex_
    verbs::TokenKey key;  // for token()
  };

  DcFabric& fabric_;
  const std::span<std::byte> bytes_;
  const Access access_;
  std::vector<OnRail> on_rail_;  // one a rail, in the fabric's order
};

class DcFabric final : public Fabric {
 public:
  DcFabric(DcOptions options, const Clock& clock, verbs::AddressSpace& addresses)
      : options_(std::move(options)), addresses_(addresses) {
    for (const RailPort& where : options_.rails) {
      rails_.push_back(std::make_unique<Rail>(where, options_.dc_key, clock));
    }
  }
  ~DcFabric() override {
    keeper_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

  /// Opens every rail whose port is up. Errors: of one that can never work.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] std::string_view name() const noexcept override { return "dc"; }
  [[nodiscard]] bool is_up() const noexcept override {
    return std::ranges::any_of(rails_, [](const auto& rail) { return rail->is_up(); });
  }
  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access access) override;

  [[nodiscard]] Result<Token> token_for(const DcRegion& region, std::size_t offset,
                                        std::size_t length);
  [[nodiscard]] Result<void> renew(DcRegion& region);
  void remove(DcRegion& region);

 private:
  using OnRail = DcRegion::OnRail;

  [[nodiscard]] Token mint(Rail& rail, const Rail::Reach& reach, verbs::TokenKey::Value key,
                           std::size_t offset, std::size_t length) const;
  [[nodiscard]] Result<void> register_on_all(DcRegion& region) REQUIRES(memory_mutex_);
  [[nodiscard]] Result<void> register_on(DcRegion& region, std::size_t rail)
      REQUIRES(memory_mutex_);
  [[nodiscard]] static bool deregister(OnRail& registration);
  [[nodiscard]] std::size_t least_loaded_rail();
  void close_rail(std::size_t rail) REQUIRES(memory_mutex_);

  void keep_rails(const std::stop_token& stop);
  void wait_for_events();
  void repair();
  void repair_rail(std::size_t rail) REQUIRES(memory_mutex_);

  const DcOptions options_;
  verbs::AddressSpace& addresses_;
  std::vector<std::unique_ptr<Rail>> rails_;  // fixed once made
  std::atomic<std::size_t> next_rail_{0};

  Mutex memory_mutex_;  // lock order 6a
  std::vector<DcRegion*> regions_ GUARDED_BY(memory_mutex_);

  UniqueFd wake_;        // an eventfd: the end is near
  std::jthread keeper_;  // last: stopped before anything it uses is gone
};

Result<void> DcFabric::start() {
  {
    const MutexLock lock(memory_mutex_);
    for (const auto& rail : rails_) {
      auto opened = rail->open();
      if (opened) continue;
      if (opened.error().code != ErrorCode::kUnreachable) return opened;
      spdlog::warn("dc: {}; going on without it until it is up", opened.error().detail);
    }
  }
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail_errno("eventfd", errno);
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep_rails(stop); });
  return {};
}

Result<std::unique_ptr<MemoryRegion>> DcFabric::register_memory(const Backing& backing,
                                                                Access access) {
  auto region = std::make_unique<DcRegion>(*this, backing, access, rails_.size());
  const MutexLock lock(memory_mutex_);
  if (auto registered = register_on_all(*region); !registered) {
    return std::unexpected(std::move(registered.error()));
  }
  regions_.push_back(region.get());
  return region;
}

Result<Token> DcFabric::token_for(const DcRegion& region, std::size_t offset, std::size_t length) {
  if (length > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::kInvalidArgument, "a token's window is at most 4 GiB - 1");
  }
  const std::size_t first = least_loaded_rail();
  // Failures only put a rail behind the others: a suspect one is better than none.
  for (const bool take_suspect : {false, true}) {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const std::size_t index = (first + i) % rails_.size();
      Rail& rail = *rails_[index];
      const auto key = region.on_rail_[index].key.get();
      if (!key) continue;
      const std::optional<Rail::Reach> reach = rail.reach();
      if (!reach || !(take_suspect || rail.may_take())) continue;
      return mint(rail, *reach, *key, offset, length);
    }
  }
  return fail(ErrorCode::kUnreachable, "no rail of the dc fabric is up");
}

// A slower rail gets less by itself. Ties rotate.
std::size_t DcFabric::least_loaded_rail() {
  const std::size_t first = next_rail_.fetch_add(1, std::memory_order_relaxed) % rails_.size();
  std::size_t best = first;
  for (std::size_t i = 1; i < rails_.size(); ++i) {
    const std::size_t index = (first + i) % rails_.size();
    const bool is_up = rails_[index]->is_up();
    const bool is_less = rails_[index]->outstanding_bytes() < rails_[best]->outstanding_bytes();
    if (is_up && (is_less || !rails_[best]->is_up())) best = index;
  }
  return best;
}

Token DcFabric::mint(Rail& rail, const Rail::Reach& reach, verbs::TokenKey::Value key,
                     std::size_t offset, std::size_t length) const {
  const DcToken token{.window_address = key.address + offset,
                      .window_bytes = static_cast<std::uint32_t>(length),
                      .rkey = key.rkey,
                      .target = reach.target};
  rail.on_begin(length);
  return Token(
      token.to_text(options_.token_form),
      [&rail, length](TokenFate fate) { rail.on_end(length, fate); },
      options_.bind_source ? reach.source_address : std::string());
}

Result<void> DcFabric::renew(DcRegion& region) {
  const MutexLock lock(memory_mutex_);
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (!deregister(region.on_rail_[rail])) close_rail(rail);
  }
  return register_on_all(region);
}

void DcFabric::remove(DcRegion& region) {
  const MutexLock lock(memory_mutex_);
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (!deregister(region.on_rail_[rail])) close_rail(rail);
  }
  std::erase(regions_, &region);
}

Result<void> DcFabric::register_on_all(DcRegion& region) {
  Result<void> result;
  bool is_registered = false;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (auto registered = register_on(region, rail); !registered) result = std::move(registered);
    is_registered |= region.on_rail_[rail].region != nullptr;
  }
  if (is_registered) return {};
  return result;  // good where all rails are closed: the keeper registers it when one opens
}

Result<void> DcFabric::register_on(DcRegion& region, std::size_t rail) {
  DcTarget* target = rails_[rail]->target();
  if (target == nullptr) return {};  // closed: nothing to register with
  const std::uint64_t iova = addresses_.take(region.bytes_);
  auto registered = target->register_memory(region.bytes_, iova, region.access_);
  if (!registered) {
    return fail_with_context(rails_[rail]->name(), std::move(registered.error()));
  }
  OnRail& registration = region.on_rail_[rail];
  registration.region = std::move(*registered);
  registration.key.set({.address = iova, .rkey = registration.region->rkey});
  return {};
}

// True when the key is dead. Where it is not, the handle is given up: the rail goes as a whole.
bool DcFabric::deregister(OnRail& registration) {
  registration.key.clear();
  ibv_mr* region = registration.region.release();
  if (region == nullptr) return true;
  const int error = ibv_dereg_mr(region);
  if (error == 0) return true;
  spdlog::warn("dc: a memory region could not be deregistered: {}", std::strerror(error));
  return false;
}

void DcFabric::close_rail(std::size_t rail) {
  for (DcRegion* region : regions_) static_cast<void>(deregister(region->on_rail_[rail]));
  rails_[rail]->close();
}

void DcFabric::keep_rails(const std::stop_token& stop) {
  set_thread_name("rdma-dc");
  while (!stop.stop_requested()) {
    wait_for_events();
    repair();
  }
}

void DcFabric::wait_for_events() {
  std::vector<pollfd> watched{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  {
    const MutexLock lock(memory_mutex_);
    for (const auto& rail : rails_) {
      if (rail->target() == nullptr) continue;
      watched.push_back({.fd = rail->target()->event_fd(), .events = POLLIN, .revents = 0});
    }
  }
  poll(watched.data(), watched.size(), static_cast<int>(kRepairInterval.count()));
}

void DcFabric::repair() {
  const MutexLock lock(memory_mutex_);
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) repair_rail(rail);
}

void DcFabric::repair_rail(std::size_t index) {
  Rail& rail = *rails_[index];
  if (!rail.take_events()) close_rail(index);
  if (rail.target() == nullptr && !rail.open()) return;
  for (DcRegion* region : regions_) {
    if (region->on_rail_[index].region == nullptr && !register_on(*region, index)) return;
  }
}

DcRegion::~DcRegion() { fabric_.remove(*this); }

void DcRegion::token(std::size_t offset, std::size_t length, Deadline, Done<Token> done) {
  done(fabric_.token_for(*this, offset, length));
}

Result<void> DcRegion::renew() { return fabric_.renew(*this); }

}  // namespace

Result<std::unique_ptr<Fabric>> make_dc_fabric(DcOptions options, const Clock& clock,
                                               verbs::AddressSpace& addresses) {
  auto fabric = std::make_unique<DcFabric>(std::move(options), clock, addresses);
  if (auto started = fabric->start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return fabric;
}

}  // namespace s3rdmafs::rdma::mlx5
