// SPDX-License-Identifier: Apache-2.0
//
// The functions of libibverbs and libmlx5 themselves. Several names of infiniband/verbs.h are
// macros or inline functions over a table in the context: those tables are filled in here
// (query_port), and the macros are undefined before the functions of the same names are defined.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "fakes/rdma/recorded_machine.h"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace s3rdmafs::fakes {
namespace {

int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* out,
               std::size_t) noexcept {
  auto& all = recorded_machine();
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
  auto& all = recorded_machine();
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
  auto& all = recorded_machine();
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

template <class T>
int destroy_recorded(T* object, const char* function) {
  auto& all = recorded_machine();
  const MutexLock lock(all.mutex);
  return all.destroy(object, function);
}

}  // namespace
}  // namespace s3rdmafs::fakes

namespace fakes = s3rdmafs::fakes;

extern "C" {

int ibv_fork_init() { return 0; }

ibv_device** ibv_get_device_list(int* count) {
  auto& all = fakes::recorded_machine();
  auto** list = new ibv_device* [all.devices.size() + 1] {};
  for (std::size_t i = 0; i < all.devices.size(); ++i) list[i] = &all.devices[i]->verbs;
  if (count != nullptr) *count = static_cast<int>(all.devices.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) { delete[] list; }
__be64 ibv_get_device_guid(ibv_device*) { return 0; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
const char* ibv_port_state_str(ibv_port_state state) {
  return state == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : "PORT_DOWN";
}
const char* ibv_event_type_str(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE:
      return "port active";
    case IBV_EVENT_PORT_ERR:
      return "port error";
    case IBV_EVENT_DEVICE_FATAL:
      return "local catastrophic error";
    default:
      return "another event";
  }
}

int ibv_get_device_index(ibv_device*) { return -1; }

ibv_context* ibv_open_device(ibv_device* device) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
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
  for (const auto& candidate : all.devices) {
    if (&candidate->verbs == device) context->device = candidate.get();
  }
  all.contexts[verbs] = std::move(context);
  return verbs;
}

int ibv_close_device(ibv_context* context) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
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
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
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
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
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
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  const auto* port = all.port_of(context, number);
  if (port == nullptr || index >= port->gids.size()) return ENODATA;
  *out = fakes::entry_of(*port, number, index);
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* out, std::size_t max,
                             std::uint32_t, std::size_t) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
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
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  auto& events = all.contexts.at(context)->events;
  *out = events.front();
  events.pop_front();
  ++all.unacknowledged;
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  --all.unacknowledged;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  return all.make<ibv_pd>(context, "ibv_alloc_pd", {});
}

int ibv_dealloc_pd(ibv_pd* pd) { return fakes::destroy_recorded(pd, "ibv_dealloc_pd"); }

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

int ibv_dereg_mr(ibv_mr* region) { return fakes::destroy_recorded(region, "ibv_dereg_mr"); }

ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* user, ibv_comp_channel* channel, int) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  auto* cq = all.make<ibv_cq>(context, "ibv_create_cq", {channel});
  if (cq == nullptr) return nullptr;
  cq->cqe = depth;
  cq->cq_context = user;
  cq->channel = channel;
  return cq;
}

int ibv_destroy_cq(ibv_cq* cq) { return fakes::destroy_recorded(cq, "ibv_destroy_cq"); }

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  auto* srq = all.make<ibv_srq>(pd->context, "ibv_create_srq", {pd});
  if (srq != nullptr) srq->pd = pd;
  return srq;
}

int ibv_destroy_srq(ibv_srq* srq) { return fakes::destroy_recorded(srq, "ibv_destroy_srq"); }

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
  auto& all = fakes::recorded_machine();
  const s3rdmafs::MutexLock lock(all.mutex);
  const int error = all.record(qp->context, "ibv_modify_qp");
  if (error != 0) return error;
  all.queue_pairs[all.queue_pair_index.at(qp)].modifications.emplace_back(*attributes, mask);
  if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
  // A DC target has no number before.
  if (qp->state == IBV_QPS_RTR && qp->qp_num == 0) qp->qp_num = all.next_number++;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) { return fakes::destroy_recorded(qp, "ibv_destroy_qp"); }

bool mlx5dv_is_supported(ibv_device* device) {
  for (const auto& candidate : fakes::recorded_machine().devices) {
    if (&candidate->verbs == device) return candidate->fake.is_mlx5;
  }
  return false;
}

ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* init,
                         mlx5dv_qp_init_attr* mlx5) {
  return fakes::create_queue_pair(context, "mlx5dv_create_qp", *init, *mlx5);
}

}  // extern "C"
