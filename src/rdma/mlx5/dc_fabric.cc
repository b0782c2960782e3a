// SPDX-License-Identifier: Apache-2.0
// Registers every region on every rail, and deals the rails out to tokens: to each the one with the
// fewest bytes outstanding.
//
// Rails. A rail is closed, up or down (rail.h). Each has a keeper thread, which takes in its
// device's events and about once a second tries what is closed or down again, so that a device that
// is slow to open keeps nothing else waiting. A rail that has to be torn down loses every
// registration first. A region that could not be registered on a rail (locked-memory limit) goes by
// the others, and is tried again with the same beat.
//
// The fence. fence() deregisters on every rail before it registers again, at addresses that were
// never used before: devices give the same keys out again (verbs/address_space.cc). Where
// deregistering fails, the rail is closed, which takes its keys with it: closing the device is the
// kernel's last word on all that was made through it.
//
// Locks. The verbs are called under two locks that nobody else waits for: a rail's lifecycle (6a),
// to open and close it, and one for each region and rail (6b), to register there. The list of
// regions has its own (6c). token() takes a rail's (6d) and its key's alone.
//
// Closing a rail. It is withdrawn before the list of regions is read, and a region is on the list
// before it asks for a rail's device. So the closing thread meets every registration that was made
// or is being made there, and waits for the latter.
//
// Cost of a token: those two locks, one allocation (its text).
#include "rdma/mlx5/dc_fabric.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <limits>
#include <thread>

#include "rdma/mlx5/dc_target.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/mlx5/rail.h"
#include "rdma/verbs/device_registration.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

// How soon a device that came back is noticed where it sends no event.
constexpr std::chrono::milliseconds kRepairInterval{1000};

class DcFabric;

/// A region's memory and its registrations, one a rail in the fabric's order. Shared by the region
/// and whoever is at work on it.
struct DcMemory {
  DcMemory(std::span<std::byte> memory, Access allowed, std::size_t rails)
      : bytes(memory), access(allowed), on_rail(rails) {}

  const std::span<std::byte> bytes;
  const Access access;
  std::vector<verbs::DeviceRegistration<DcTarget>> on_rail;
};

/// The registrations that one rail refused.
struct Refusals {
  Refusals(metrics::Registry& metrics, const RailPort& rail)
      : counter(metrics.counter("rdma_dc_registrations_refused_total",
                                "Registrations of memory that a rail refused.",
                                "rail=\"" + rail.name() + "\"")) {}

  metrics::Counter& counter;
  std::atomic<bool> was_warned_of{false};
};

class DcRegion final : public MemoryRegion {
 public:
  DcRegion(DcFabric& fabric, std::shared_ptr<DcMemory> memory)
      : fabric_(fabric), memory_(std::move(memory)) {}
  ~DcRegion() override;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_->bytes; }
  void token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) override;
  [[nodiscard]] Result<void> fence() override;

 private:
  DcFabric& fabric_;
  const std::shared_ptr<DcMemory> memory_;
};

class DcFabric final : public Fabric {
 public:
  DcFabric(DcOptions options, const Clock& clock, metrics::Registry& metrics,
           verbs::AddressSpace& addresses)
      : options_(std::move(options)), addresses_(addresses) {
    for (const RailPort& where : options_.rails) {
      rails_.push_back(std::make_unique<Rail>(where, options_.dc_key, clock));
      refusals_.emplace_back(metrics, where);
    }
  }
  ~DcFabric() override {
    for (std::jthread& keeper : keepers_) keeper.request_stop();
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

  [[nodiscard]] Result<Token> token_for(const DcMemory& memory, std::size_t offset,
                                        std::size_t length);
  [[nodiscard]] Result<void> fence(DcMemory& memory);
  void remove(const std::shared_ptr<DcMemory>& memory);

 private:
  using Next = verbs::DeviceRegistration<DcTarget>::Next;

  [[nodiscard]] Token mint(Rail& rail, const Rail::Reach& reach, verbs::TokenKey::Value key,
                           std::size_t offset, std::size_t length) const;
  [[nodiscard]] std::size_t least_loaded_rail();

  [[nodiscard]] std::vector<std::shared_ptr<DcMemory>> all_memory() const;
  [[nodiscard]] Result<void> register_on_all(DcMemory& memory);
  [[nodiscard]] Result<void> register_on(DcMemory& memory, std::size_t rail);
  void on_refused(std::size_t rail, const Error& error);
  /// When it returns, no key of this memory is alive, and none comes before it is wanted.
  void deregister_on_all(DcMemory& memory);

  void keep_rail(std::size_t rail, const std::stop_token& stop);
  void wait_for_events(const Rail& rail) const;
  void repair(std::size_t rail);
  void close_rail(std::size_t rail);
  void withdraw(Rail& rail, std::size_t index) REQUIRES(rail.lifecycle);

  const DcOptions options_;
  verbs::AddressSpace& addresses_;
  std::vector<std::unique_ptr<Rail>> rails_;  // fixed once made
  std::deque<Refusals> refusals_;             // one a rail, fixed too
  std::atomic<std::size_t> next_rail_{0};

  mutable Mutex memory_mutex_;  // lock order 6c
  std::vector<std::shared_ptr<DcMemory>> memory_ GUARDED_BY(memory_mutex_);

  UniqueFd wake_;                      // an eventfd: the end is near
  std::vector<std::jthread> keepers_;  // one a rail; last: stopped before what they use is gone
};

Result<void> DcFabric::start() {
  for (const auto& each : rails_) {
    Rail& rail = *each;
    const MutexLock lock(rail.lifecycle);
    auto opened = rail.open();
    if (opened) continue;
    if (opened.error().code != ErrorCode::kUnreachable) return opened;
    spdlog::warn("dc: {}; going on without it until it is up", opened.error().detail);
  }
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail_errno("eventfd", errno);
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    keepers_.emplace_back([this, rail](const std::stop_token& stop) { keep_rail(rail, stop); });
  }
  return {};
}

Result<std::unique_ptr<MemoryRegion>> DcFabric::register_memory(const Backing& backing,
                                                                Access access) {
  auto memory = std::make_shared<DcMemory>(backing.bytes, access, rails_.size());
  auto region = std::make_unique<DcRegion>(*this, memory);  // takes it off the list again
  {
    const MutexLock lock(memory_mutex_);
    memory_.push_back(memory);
  }
  if (auto registered = register_on_all(*memory); !registered) {
    return std::unexpected(std::move(registered.error()));
  }
  return region;
}

Result<Token> DcFabric::token_for(const DcMemory& memory, std::size_t offset, std::size_t length) {
  if (length > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::kInvalidArgument, "a token's window is at most 4 GiB - 1");
  }
  const std::size_t first = least_loaded_rail();
  // Failures only put a rail behind the others: a suspect one is better than none.
  for (const bool take_suspect : {false, true}) {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const std::size_t index = (first + i) % rails_.size();
      Rail& rail = *rails_[index];
      const auto key = memory.on_rail[index].key();
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
  const bool is_bound = options_.bind_source && !reach.source_address.empty();
  rail.on_begin(length);
  return Token(
      token.to_text(options_.token_form),
      [&rail, bytes = static_cast<std::uint32_t>(length), is_bound](TokenFate fate) {
        rail.on_end(bytes, fate, is_bound);
      },
      is_bound ? reach.source_address : std::string());
}

Result<void> DcFabric::fence(DcMemory& memory) {
  deregister_on_all(memory);
  return register_on_all(memory);
}

// Off the list last: until then whoever closes a rail waits for what is registered there.
void DcFabric::remove(const std::shared_ptr<DcMemory>& memory) {
  deregister_on_all(*memory);
  const MutexLock lock(memory_mutex_);
  std::erase(memory_, memory);
}

std::vector<std::shared_ptr<DcMemory>> DcFabric::all_memory() const {
  const MutexLock lock(memory_mutex_);
  return memory_;
}

Result<void> DcFabric::register_on_all(DcMemory& memory) {
  for (auto& registration : memory.on_rail) registration.want();
  Result<void> result;
  bool is_registered = false;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (auto registered = register_on(memory, rail); !registered) {
      on_refused(rail, registered.error());
      result = std::move(registered);
    }
    is_registered |= memory.on_rail[rail].key().has_value();
  }
  if (is_registered) return {};
  return result;  // good where all rails are closed: a keeper registers it when one opens
}

Result<void> DcFabric::register_on(DcMemory& memory, std::size_t rail) {
  auto registered = memory.on_rail[rail].make([&] { return rails_[rail]->target(); }, memory.bytes,
                                              memory.access, addresses_);
  if (registered) return {};
  if (registered.error().code == ErrorCode::kNoMemory && rails_.size() > 1) {
    registered.error().detail += fmt::format(
        "; what is registered counts as locked on each rail, {} x cache.size here", rails_.size());
  }
  return fail_with_context(rails_[rail]->name(), std::move(registered.error()));
}

// Once a rail: every region has the same fate, and the counter tells how many.
void DcFabric::on_refused(std::size_t rail, const Error& error) {
  Refusals& refusals = refusals_[rail];
  refusals.counter.add();
  if (refusals.was_warned_of.exchange(true)) return;
  spdlog::warn("dc: {}; the memory goes by the other rails, trying this one once a second",
               error.detail);
}

void DcFabric::deregister_on_all(DcMemory& memory) {
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    const auto gone = memory.on_rail[rail].end(Next::kNothing);
    if (gone) continue;
    spdlog::warn("dc: {}: {}; closing the device", rails_[rail]->name(), gone.error().detail);
    close_rail(rail);
  }
}

void DcFabric::close_rail(std::size_t index) {
  Rail& rail = *rails_[index];
  const MutexLock lock(rail.lifecycle);
  withdraw(rail, index);
}

// The last owner of the device lets go of it at the end.
void DcFabric::withdraw(Rail& rail, std::size_t index) {
  const std::shared_ptr<DcTarget> last = rail.withdraw();
  for (const auto& memory : all_memory()) {
    auto& registration = memory->on_rail[index];
    if (!registration.end(Next::kAnother)) registration.abandon();
  }
}

void DcFabric::keep_rail(std::size_t rail, const std::stop_token& stop) {
  set_thread_name("rdma-dc-" + std::to_string(rail));
  while (!stop.stop_requested()) {
    wait_for_events(*rails_[rail]);
    if (!stop.stop_requested()) repair(rail);
  }
}

void DcFabric::wait_for_events(const Rail& rail) const {
  const UniqueFd events = rail.events();
  std::array<pollfd, 2> watched{{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = events.get(), .events = POLLIN, .revents = 0}}};
  poll(watched.data(), watched.size(), static_cast<int>(kRepairInterval.count()));
}

void DcFabric::repair(std::size_t index) {
  Rail& rail = *rails_[index];
  {
    const MutexLock lock(rail.lifecycle);
    if (!rail.take_events()) withdraw(rail, index);
    if (!rail.target() && !rail.open()) return;
  }
  for (const auto& memory : all_memory()) {
    // The rail's events must not wait for another thread's registration; the next round sees to it.
    if (memory->on_rail[index].is_busy()) continue;
    if (!register_on(*memory, index)) return;
  }
}

DcRegion::~DcRegion() { fabric_.remove(memory_); }

void DcRegion::token(std::size_t offset, std::size_t length, Deadline, Done<Token> done) {
  done(fabric_.token_for(*memory_, offset, length));
}

Result<void> DcRegion::fence() { return fabric_.fence(*memory_); }

}  // namespace

Result<std::unique_ptr<Fabric>> make_dc_fabric(DcOptions options, const Clock& clock,
                                               metrics::Registry& metrics,
                                               verbs::AddressSpace& addresses) {
  auto fabric = std::make_unique<DcFabric>(std::move(options), clock, metrics, addresses);
  if (auto started = fabric->start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return fabric;
}

}  // namespace s3rdmafs::rdma::mlx5
