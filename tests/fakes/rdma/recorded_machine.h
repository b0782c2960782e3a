// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/rdma/recorded_memory.h"
#include "fakes/rdma/recording_verbs.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fakes {

/// The recorded devices' state. Tests control it (recording_verbs.cc), and the functions of the
/// libraries change it (recorded_functions.cc). All of it under `mutex`.
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

  /// A held call goes on after this long: the test that waits for it has failed.
  static constexpr std::chrono::seconds kHeldMax{30};

  using Call = std::pair<std::string, std::string>;  // device, function
  enum class Held { kNotYet, kHere };

  explicit Machine(std::vector<FakeDevice> fakes) {
    for (FakeDevice& fake : fakes) {
      auto device = std::make_unique<Device>();
      std::strncpy(device->verbs.name, fake.name.c_str(), sizeof device->verbs.name - 1);
      device->verbs.node_type = IBV_NODE_CA;
      device->verbs.transport_type = IBV_TRANSPORT_IB;
      device->fake = std::move(fake);
      devices.push_back(std::move(device));
    }
  }

  mutable Mutex mutex;
  const UniqueFd own_memory{::open("/proc/self/mem", O_WRONLY | O_CLOEXEC)};
  std::vector<std::unique_ptr<Device>> devices;  // fixed; their ports under the mutex
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

/// The machine of the RecordingVerbs that lives now.
[[nodiscard]] RecordingVerbs::Machine& recorded_machine();

}  // namespace s3rdmafs::fakes
