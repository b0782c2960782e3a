// SPDX-License-Identifier: Apache-2.0
// Registers every region on every rail, and gives each token the rail with the fewest bytes
// outstanding.
//
// Rails. A rail is closed, up or down (rail.h). Each has a keeper thread, which handles its
// device's events and about once a second retries what is closed or down, so that nothing else
// waits for a device that is slow to open. A rail loses all its registrations before it is closed.
// A region that could not be registered on a rail (locked-memory limit) goes by the others, and is
// retried once a second too.
//
// The fence. fence() deregisters on every rail before it registers again, at addresses that were
// never used before: devices give the same keys out again (verbs/address_space.cc). Where
// deregistering fails, the rail is closed: the kernel ends all that was made through a device when
// that is closed, so its keys are dead.
//
// Locks. The verbs are called under two locks that neither tokens nor other regions and rails wait
// for: a rail's lifecycle (6a), to open and close it, and one for each region and rail (6b), to
// register there. The list of regions has its own (6c). token() takes a rail's (6d) and its key's.
//
// Closing a rail. It is withdrawn before the list of regions is read, and a region is on the list
// before it asks for a rail's device. So the closing thread meets every registration that was made
// or is being made there, and waits for the latter.
//
// Cost of a token: those two locks, one allocation (its text).
#include "rdma/mlx5/dc_fabric.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>

#include "rdma/mlx5/dc_target.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/mlx5/rail.h"
#include "rdma/verbs/device_keeper.h"
#include "rdma/verbs/device_registration.h"
#include "rdma/verbs/region_list.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

/// A region's memory and its registrations, one a rail in the fabric's order. Shared by the region
/// and the threads that register it.
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
    for (verbs::DeviceKeeper& keeper : keepers_) keeper.request_stop();
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

  [[nodiscard]] Result<void> register_on_all(DcMemory& memory);
  [[nodiscard]] Result<void> register_on(DcMemory& memory, std::size_t rail);
  void on_refused(std::size_t rail, const Error& error);
  /// When it returns, no key of this memory is alive, and none is made before register_on_all().
  void deregister_on_all(DcMemory& memory);

  void repair(std::size_t rail);
  void close_rail(std::size_t rail);
  void withdraw(Rail& rail, std::size_t index) REQUIRES(rail.lifecycle);

  const DcOptions options_;
  verbs::AddressSpace& addresses_;
  std::vector<std::unique_ptr<Rail>> rails_;  // fixed once made
  std::deque<Refusals> refusals_;             // one a rail, fixed too
  std::atomic<std::size_t> next_rail_{0};

  verbs::RegionList<DcMemory> regions_;

  // One a rail. Last: stopped before what they use is gone.
  std::deque<verbs::DeviceKeeper> keepers_;
};

class DcRegion final : public verbs::ListedRegion<DcFabric, DcMemory> {
 public:
  using ListedRegion::ListedRegion;
  void token(std::size_t offset, std::size_t length, Deadline, Done<Token> done) override {
    done(fabric().token_for(memory(), offset, length));
  }
};

Result<void> DcFabric::start() {
  for (const auto& each : rails_) {
    Rail& rail = *each;
    const MutexLock lock(rail.lifecycle);
    auto opened = rail.open();
    if (opened) continue;
    if (opened.error().code != ErrorCode::kUnreachable) return opened;
    log::warn("dc: {}; not using the rail until its port is up", opened.error().detail);
  }
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    auto started = keepers_.emplace_back().start(
        "rdma-dc-" + std::to_string(rail), [this, rail] { return rails_[rail]->events(); },
        [this, rail] { repair(rail); });
    if (!started) return started;
  }
  return {};
}

Result<std::unique_ptr<MemoryRegion>> DcFabric::register_memory(const Backing& backing,
                                                                Access access) {
  auto memory = std::make_shared<DcMemory>(backing.bytes, access, rails_.size());
  auto region = std::make_unique<DcRegion>(*this, memory);  // takes it off the list again
  regions_.add(memory);
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
  // A suspect rail comes after the others, but is better than none.
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

// A slower rail gets less. Ties rotate.
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

// Off the list last: until then a thread that closes a rail waits for what is registered there.
void DcFabric::remove(const std::shared_ptr<DcMemory>& memory) {
  deregister_on_all(*memory);
  regions_.remove(memory);
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
  log::warn("dc: {}; using the other rails, trying this one once a second", error.detail);
}

void DcFabric::deregister_on_all(DcMemory& memory) {
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    const auto gone = memory.on_rail[rail].end(Next::kNothing);
    if (gone) continue;
    log::warn("dc: {}: {}; closing the device", rails_[rail]->name(), gone.error().detail);
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
  for (const auto& memory : regions_.all()) {
    auto& registration = memory->on_rail[index];
    if (!registration.end(Next::kAnother)) registration.abandon();
  }
}

void DcFabric::repair(std::size_t index) {
  Rail& rail = *rails_[index];
  {
    const MutexLock lock(rail.lifecycle);
    if (!rail.take_events()) withdraw(rail, index);
    if (!rail.target() && !rail.open()) return;
  }
  for (const auto& memory : regions_.all()) {
    // The rail's events must not wait for another thread's registration: next round.
    if (memory->on_rail[index].is_busy()) continue;
    if (!register_on(*memory, index)) return;
  }
}

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
