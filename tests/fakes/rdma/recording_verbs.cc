// SPDX-License-Identifier: Apache-2.0
// What tests do to the recorded devices, and what they see of them.
#include "fakes/rdma/recording_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "fakes/rdma/recorded_machine.h"

namespace s3rdmafs::fakes {
namespace {

// The C functions have nowhere else to find it.
std::atomic<RecordingVerbs*> present_verbs{nullptr};

}  // namespace

RecordingVerbs::Machine& recorded_machine() { return present_verbs.load()->machine(); }

RecordingVerbs::RecordingVerbs(std::vector<FakeDevice> devices)
    : machine_(std::make_unique<Machine>(std::move(devices))) {
  present_verbs = this;
}

RecordingVerbs::~RecordingVerbs() { present_verbs = nullptr; }

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
  const auto deadline = std::chrono::steady_clock::now() + Machine::kHeldMax;
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
  for (const auto& candidate : machine_->devices) {
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
