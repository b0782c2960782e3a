// SPDX-License-Identifier: Apache-2.0
//
// Several names of infiniband/verbs.h are macros or inline functions over a table in the context:
// those tables are filled in here (query_port), and the macros are taken away before the functions
// of the same names are defined.
#include "fakes/rdma/recording_verbs.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "s3rdmafs/base/unique_fd.h"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace s3rdmafs::fakes {
namespace {

std::atomic<RecordingVerbs*> present{nullptr};  // C functions have nowhere else to find it

constexpr std::chrono::seconds kHeldMax{30};

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* out, std::size_t) noexcept;

}  // namespace

class RecordingVerbs::Machine {
 public:
  struct Device {
    FakeDevice fake;
    ibv_device verbs{};
  };
  struct Context {
    verbs_context verbs{};
    Device* device = nullptr;
    std::deque<ibv_async_event> events;
  };
  struct Object {  // of whatever kind
    std::vector<const void*> depends_on;
    std::shared_ptr<void> owner;
  };

  using Call = std::pair<std::string, std::string>;  // device, function
  enum class Held { kNotYet, kHere };

  explicit Machine(std::vector<FakeDevice> devices) {
    for (FakeDevice& fake : devices) {
      auto device = std::make_unique<Device>();
      std::strncpy(device->verbs.name, fake.name.c_str(), sizeof device->verbs.name - 1);
      device->verbs.node_type = IBV_NODE_CA;
      device->verbs.transport_type = IBV_TRANSPORT_IB;
      device->fake = std::move(fake);
      devices_.push_back(std::move(device));
    }
  }

  mutable Mutex mutex;
  const UniqueFd own_memory{::open("/proc/self/mem", O_WRONLY | O_CLOEXEC)};
  std::vector<std::unique_ptr<Device>> devices_;  // fixed; their ports under the mutex
  std::map<const ibv_context*, std::unique_ptr<Context>> contexts GUARDED_BY(mutex);
  std::map<const void*, Object> objects GUARDED_BY(mutex);
  std::map<const ibv_qp*, std::size_t> queue_pair_index GUARDED_BY(mutex);
  std::vector<SeenQueuePair> queue_pairs GUARDED_BY(mutex);
  RecordedMemory memory GUARDED_BY(mutex);
  std::vector<VerbsCall> calls GUARDED_BY(mutex);
  std::map<Call, std::pair<int, int>> failures GUARDED_BY(mutex);
  std::uint32_t next_number GUARDED_BY(mutex) = 0x1330;
  int busy GUARDED_BY(mutex) = 0;
  int unacknowledged GUARDED_BY(mutex) = 0;
  std::map<Call, Held> held GUARDED_BY(mutex);
  mutable CondVar held_changed;

  /// Records a call. Returns the planted error, or 0.
  int record(const ibv_context* context, const char* function) REQUIRES(mutex) {
    const std::string device = context->device->name;
    calls.push_back({function, device});
    wait_while_held({device, function});
    const auto planted = failures.find({device, function});
    if (planted == failures.end() || planted->second.second == 0) return 0;
    --planted->second.second;
    return errno = planted->second.first;
  }

  /// The error planted for a query, which is not recorded; or 0.
  int planted(const ibv_context* context, const char* function) REQUIRES(mutex) {
    const auto found = failures.find({contexts.at(context)->device->fake.name, function});
    if (found == failures.end() || found->second.second == 0) return 0;
    --found->second.second;
    return found->second.first;
  }

  void wait_while_held(const Call& call) REQUIRES(mutex) {
    const auto found = held.find(call);
    if (found == held.end() || found->second != Held::kNotYet) return;
    found->second = Held::kHere;
    held_changed.notify_all();
    const auto deadline = std::chrono::steady_clock::now() + kHeldMax;
    while (held.contains(call) && held_changed.wait_until(mutex, deadline)) {
    }
    held.erase(call);
  }

  bool is_held(const Call& call) const REQUIRES(mutex) {
    const auto found = held.find(call);
    return found != held.end() && found->second == Held::kHere;
  }

  /// A new object, or nullptr with errno set where the test wants it to fail.
  template <class T>
  T* make(ibv_context* context, const char* function, std::vector<const void*> depends_on)
      REQUIRES(mutex) {
    if (record(context, function) != 0) return nullptr;
    auto owner = std::make_shared<T>();
    T* object = owner.get();
    object->context = context;
    depends_on.push_back(context);
    objects[object] = {.depends_on = std::move(depends_on), .owner = std::move(owner)};
    return object;
  }

  template <class T>
  int destroy(T* object, const char* function) REQUIRES(mutex) {
    if (const int error = record(object->context, function); error != 0) return error;
    const bool is_needed = std::ranges::any_of(objects, [&](const auto& other) {
      return std::ranges::find(other.second.depends_on, object) != other.second.depends_on.end();
    });
    if (is_needed) {
      ++busy;
      return EBUSY;
    }
    memory.remove(object);
    objects.erase(object);
    return 0;
  }

  FakePort* port_of(const ibv_context* context, unsigned number) REQUIRES(mutex) {
    FakeDevice& device = contexts.at(context)->device->fake;
    return number < 1 || number > device.ports.size() ? nullptr : &device.ports[number - 1];
  }
};

namespace {

RecordingVerbs::Machine& machine() { return present.load()->machine(); }

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* out,
               std::size_t) noexcept {
  auto& all = machine();
  const MutexLock lock(all.mutex);
  const FakePort* port = all.port_of(context, number);
  if (port == nullptr) return EINVAL;
  *out = {};
  out->state = port->state;
  out->max_mtu = IBV_MTU_4096;
  out->active_mtu = port->active_mtu;
  out->gid_tbl_len = static_cast<int>(port->gids.size());
  out->lid = port->lid;
  out->link_layer = port->link_layer;
  return 0;
}

ibv_gid_entry entry_of(const FakePort& port, unsigned number, unsigned index) {
  ibv_gid_entry entry{};
  std::ranges::copy(port.gids[index].raw, std::begin(entry.gid.raw));
  entry.gid_index = index;
  entry.port_num = number;
  entry.gid_type = port.gids[index].type;
  entry.ndev_ifindex = port.gids[index].interface_index;
  return entry;
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  auto& all = machine();
  const MutexLock lock(all.mutex);
  auto* region = all.make<ibv_mr>(pd->context, "ibv_reg_mr", {pd});
  if (region == nullptr) return nullptr;
  region->pd = pd;
  region->addr = address;
  region->length = length;
  region->lkey = region->rkey = all.memory.add(region, {.device = pd->context->device->name,
                                                        .address = address,
                                                        .length = length,
                                                        .access = access,
                                                        .iova = iova});
  return region;
}

ibv_qp* create_queue_pair(ibv_context* context, const char* function,
                          const ibv_qp_init_attr_ex& init, const mlx5dv_qp_init_attr& mlx5) {
  auto& all = machine();
  const MutexLock lock(all.mutex);
  auto* qp = all.make<ibv_qp>(context, function, {init.pd, init.send_cq, init.recv_cq, init.srq});
  if (qp == nullptr) return nullptr;
  qp->pd = init.pd;
  qp->qp_type = init.qp_type;
  qp->state = IBV_QPS_RESET;
  if (init.qp_type != IBV_QPT_DRIVER) qp->qp_num = all.next_number++;
  all.queue_pair_index[qp] = all.queue_pairs.size();
  all.queue_pairs.push_back(
      {.device = context->device->name, .init = init, .mlx5 = mlx5, .modifications = {}});
  return qp;
}

}  // namespace

RecordingVerbs::RecordingVerbs(std::vector<FakeDevice> devices)
    : machine_(std::make_unique<Machine>(std::move(devices))) {
  present = this;
}

RecordingVerbs::~RecordingVerbs() { present = nullptr; }

void RecordingVerbs::fail_next(const std::string& device, const std::string& function, int error,
                               int times) {
  const MutexLock lock(machine_->mutex);
  machine_->failures[{device, function}] = {error, times};
}

void RecordingVerbs::hold_next(const std::string& device, const std::string& function) {
  const MutexLock lock(machine_->mutex);
  machine_->held[{device, function}] = Machine::Held::kNotYet;
}

void RecordingVerbs::let_go(const std::string& device, const std::string& function) {
  const MutexLock lock(machine_->mutex);
  machine_->held.erase({device, function});
  machine_->held_changed.notify_all();
}

bool RecordingVerbs::wait_for_held(const std::string& device, const std::string& function) const {
  const auto deadline = std::chrono::steady_clock::now() + kHeldMax;
  const MutexLock lock(machine_->mutex);
  while (!machine_->is_held({device, function})) {
    if (!machine_->held_changed.wait_until(machine_->mutex, deadline)) return false;
  }
  return true;
}

bool RecordingVerbs::is_held(const std::string& device, const std::string& function) const {
  const MutexLock lock(machine_->mutex);
  return machine_->is_held({device, function});
}

void RecordingVerbs::change_port(const std::string& device, unsigned port,
                                 const std::function<void(FakePort&)>& change) {
  const MutexLock lock(machine_->mutex);
  for (const auto& candidate : machine_->devices_) {
    if (candidate->fake.name == device) change(candidate->fake.ports.at(port - 1));
  }
}

void RecordingVerbs::send_event(const std::string& device, ibv_event_type type, int port) {
  const MutexLock lock(machine_->mutex);
  for (const auto& [verbs, context] : machine_->contexts) {
    if (context->device->fake.name != device) continue;
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = port;
    context->events.push_back(event);
    eventfd_write(verbs->async_fd, 1);
  }
}

std::vector<VerbsCall> RecordingVerbs::calls() const {
  const MutexLock lock(machine_->mutex);
  return machine_->calls;
}

std::size_t RecordingVerbs::count(const std::string& function) const {
  const MutexLock lock(machine_->mutex);
  return static_cast<std::size_t>(
      std::ranges::count(machine_->calls, function, &VerbsCall::function));
}

std::vector<SeenQueuePair> RecordingVerbs::queue_pairs() const {
  const MutexLock lock(machine_->mutex);
  return machine_->queue_pairs;
}

std::vector<SeenRegistration> RecordingVerbs::registrations() const {
  const MutexLock lock(machine_->mutex);
  return machine_->memory.log();
}

std::size_t RecordingVerbs::registration_count() const {
  const MutexLock lock(machine_->mutex);
  return machine_->memory.log().size();
}

bool RecordingVerbs::can_write(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
                               std::size_t length) const {
  const MutexLock lock(machine_->mutex);
  return machine_->memory.find(device, rkey, iova, length, IBV_ACCESS_REMOTE_WRITE) != nullptr;
}

// Under the lock: a registration does not end while something is written there.
bool RecordingVerbs::write(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
                           std::span<const std::byte> bytes) {
  const MutexLock lock(machine_->mutex);
  const std::byte* at =
      machine_->memory.find(device, rkey, iova, bytes.size(), IBV_ACCESS_REMOTE_WRITE);
  if (at == nullptr) return false;
  return pwrite(machine_->own_memory.get(), bytes.data(), bytes.size(),
                static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at))) ==
         static_cast<ssize_t>(bytes.size());
}

int RecordingVerbs::live_objects() const {
  const MutexLock lock(machine_->mutex);
  return static_cast<int>(machine_->objects.size() + machine_->contexts.size());
}

int RecordingVerbs::busy_destructions() const {
  const MutexLock lock(machine_->mutex);
  return machine_->busy;
}

int RecordingVerbs::unacknowledged_events() const {
  const MutexLock lock(machine_->mutex);
  return machine_->unacknowledged;
}

}  // namespace s3rdmafs::fakes

using namespace s3rdmafs;

extern "C" {

int ibv_fork_init() { return 0; }

ibv_device** ibv_get_device_list(int* count) {
  auto& all = fakes::machine();
  auto** list = new ibv_device* [all.devices_.size() + 1] {};
  for (std::size_t i = 0; i < all.devices_.size(); ++i) list[i] = &all.devices_[i]->verbs;
  if (count != nullptr) *count = static_cast<int>(all.devices_.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) { delete[] list; }
__be64 ibv_get_device_guid(ibv_device*) { return 0; }
int ibv_get_device_index(ibv_device*) { return -1; }

ibv_context* ibv_open_device(ibv_device* device) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  auto context = std::make_unique<fakes::RecordingVerbs::Machine::Context>();
  ibv_context* verbs = &context->verbs.context;
  verbs->device = device;
  if (all.record(verbs, "ibv_open_device") != 0) return nullptr;
  verbs->abi_compat = __VERBS_ABI_IS_EXTENDED;
  verbs->cmd_fd = -1;
  // Blocking, as the real one is; a semaphore, so that one read is one event.
  verbs->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  verbs->num_comp_vectors = 1;
  context->verbs.sz = sizeof(verbs_context);
  context->verbs.query_port = fakes::query_port;
  for (const auto& candidate : all.devices_) {
    if (&candidate->verbs == device) context->device = candidate.get();
  }
  all.contexts[verbs] = std::move(context);
  return verbs;
}

int ibv_close_device(ibv_context* context) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  all.record(context, "ibv_close_device");
  close(context->async_fd);
  // The kernel ends all that was made through a device when it is closed.
  for (auto object = all.objects.begin(); object != all.objects.end();) {
    if (std::ranges::find(object->second.depends_on, context) == object->second.depends_on.end()) {
      ++object;
      continue;
    }
    all.memory.remove(object->first);
    object = all.objects.erase(object);
  }
  all.contexts.erase(context);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* out) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  if (const int error = all.planted(context, "ibv_query_device"); error != 0) return error;
  *out = {};
  out->phys_port_cnt =
      static_cast<std::uint8_t>(all.contexts.at(context)->device->fake.ports.size());
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* out) {
  return fakes::query_port(context, number, reinterpret_cast<ibv_port_attr*>(out), 0);
}

int ibv_query_gid(ibv_context* context, std::uint8_t number, int index, ibv_gid* out) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  const auto* port = all.port_of(context, number);
  if (port == nullptr || index < 0 || static_cast<std::size_t>(index) >= port->gids.size()) {
    errno = EINVAL;
    return -1;
  }
  *out = fakes::entry_of(*port, number, static_cast<unsigned>(index)).gid;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t number, std::uint32_t index,
                      ibv_gid_entry* out, std::uint32_t, std::size_t) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  const auto* port = all.port_of(context, number);
  if (port == nullptr || index >= port->gids.size()) return ENODATA;
  *out = fakes::entry_of(*port, number, index);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* out, std::size_t max,
                             std::uint32_t, std::size_t) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  const auto& ports = all.contexts.at(context)->device->fake.ports;
  std::size_t count = 0;
  for (unsigned number = 1; number <= ports.size(); ++number) {
    for (unsigned index = 0; index < ports[number - 1].gids.size() && count < max; ++index) {
      out[count++] = fakes::entry_of(ports[number - 1], number, index);
    }
  }
  return static_cast<ssize_t>(count);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* out) {
  eventfd_t one = 0;
  if (eventfd_read(context->async_fd, &one) != 0) return -1;  // waits, unless told not to
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  auto& events = all.contexts.at(context)->events;
  *out = events.front();
  events.pop_front();
  ++all.unacknowledged;
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  --all.unacknowledged;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.make<ibv_pd>(context, "ibv_alloc_pd", {});
}

int ibv_dealloc_pd(ibv_pd* pd) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.destroy(pd, "ibv_dealloc_pd");
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return fakes::reg_mr(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                       static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
  return fakes::reg_mr(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
  return fakes::reg_mr(pd, address, length, iova, access);
}

int ibv_dereg_mr(ibv_mr* region) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.destroy(region, "ibv_dereg_mr");
}

ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* user, ibv_comp_channel* channel, int) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  auto* cq = all.make<ibv_cq>(context, "ibv_create_cq", {channel});
  if (cq == nullptr) return nullptr;
  cq->cqe = depth;
  cq->cq_context = user;
  cq->channel = channel;
  return cq;
}

int ibv_destroy_cq(ibv_cq* cq) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.destroy(cq, "ibv_destroy_cq");
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  auto* srq = all.make<ibv_srq>(pd->context, "ibv_create_srq", {pd});
  if (srq != nullptr) srq->pd = pd;
  return srq;
}

int ibv_destroy_srq(ibv_srq* srq) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.destroy(srq, "ibv_destroy_srq");
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = attributes->qp_type;
  init.cap = attributes->cap;
  init.pd = pd;
  init.send_cq = attributes->send_cq;
  init.recv_cq = attributes->recv_cq;
  init.srq = attributes->srq;
  return fakes::create_queue_pair(pd->context, "ibv_create_qp", init, {});
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  const int error = all.record(qp->context, "ibv_modify_qp");
  if (error != 0) return error;
  all.queue_pairs[all.queue_pair_index.at(qp)].modifications.emplace_back(*attributes, mask);
  if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
  // A DC target has no number before.
  if (qp->state == IBV_QPS_RTR && qp->qp_num == 0) qp->qp_num = all.next_number++;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  auto& all = fakes::machine();
  const MutexLock lock(all.mutex);
  return all.destroy(qp, "ibv_destroy_qp");
}

bool mlx5dv_is_supported(ibv_device* device) {
  for (const auto& candidate : fakes::machine().devices_) {
    if (&candidate->verbs == device) return candidate->fake.is_mlx5;
  }
  return false;
}

ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* init,
                         mlx5dv_qp_init_attr* mlx5) {
  return fakes::create_queue_pair(context, "mlx5dv_create_qp", *init, *mlx5);
}

}  // extern "C"
