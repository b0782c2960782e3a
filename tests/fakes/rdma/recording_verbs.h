// SPDX-License-Identifier: Apache-2.0
// Simulated RDMA devices. recorded_functions.cc defines the functions of libibverbs and libmlx5
// themselves, so that all code in the same executable calls them instead of the libraries', and the
// product needs no interface for it. Compile it into the test's executable.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "fakes/rdma/recorded_memory.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fakes {

struct FakeGid {
  std::array<std::uint8_t, 16> raw{};
  ibv_gid_type type = IBV_GID_TYPE_ROCE_V2;
  std::uint32_t interface_index = 0;
};

/// The entry that every RoCE port has at index 0.
inline const FakeGid kLinkLocal{.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

struct FakePort {
  ibv_port_state state = IBV_PORT_ACTIVE;
  ibv_mtu active_mtu = IBV_MTU_4096;
  std::uint16_t lid = 0;
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  std::vector<FakeGid> gids = {};
};

/// An Ethernet port with the address 192.0.2.`last`.
[[nodiscard]] inline FakePort port_with_address(std::uint8_t last) {
  return {.gids = {{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last}}}};
}

struct FakeDevice {
  std::string name;
  std::vector<FakePort> ports = {FakePort{}};  ///< port 1 first
  bool is_mlx5 = true;
};

/// One call that makes, changes or ends an object. Queries are not recorded.
struct VerbsCall {
  std::string function;  ///< "ibv_reg_mr", whichever variant of it was called
  std::string device;
  bool operator==(const VerbsCall&) const = default;
};

struct SeenQueuePair {
  std::string device;
  ibv_qp_init_attr_ex init{};
  mlx5dv_qp_init_attr mlx5{};
  std::vector<std::pair<ibv_qp_attr, int>> modifications;  ///< with their masks
};

/// The machine's RDMA devices for as long as it lives; there is one at a time. Destroying an object
/// that others still depend on fails with EBUSY, as in the kernel. Keys of memory come again, as on
/// mlx5 (RecordedMemory). Thread-safe.
class RecordingVerbs {
 public:
  explicit RecordingVerbs(std::vector<FakeDevice> devices);
  ~RecordingVerbs();
  RecordingVerbs(const RecordingVerbs&) = delete;
  RecordingVerbs& operator=(const RecordingVerbs&) = delete;

  /// The next `times` calls of `function` on this device fail with `error`.
  void fail_next(const std::string& device, const std::string& function, int error, int times = 1);
  /// The next call of `function` on this device does not return before let_go(), but after 30 s at
  /// the latest, so that a test that fails ends.
  void hold_next(const std::string& device, const std::string& function);
  void let_go(const std::string& device, const std::string& function);
  /// Waits until that call has come. False after 30 s.
  [[nodiscard]] bool wait_for_held(const std::string& device, const std::string& function) const;
  /// Whether it is still there.
  [[nodiscard]] bool is_held(const std::string& device, const std::string& function) const;
  void change_port(const std::string& device, unsigned port,
                   const std::function<void(FakePort&)>& change);
  /// Delivers an asynchronous event to every open context of the device.
  void send_event(const std::string& device, ibv_event_type type, int port = 1);

  [[nodiscard]] std::vector<VerbsCall> calls() const;
  /// How often a function was called, failures included, over all devices.
  [[nodiscard]] std::size_t count(const std::string& function) const;
  [[nodiscard]] std::vector<SeenQueuePair> queue_pairs() const;
  /// Every registration there has ever been, in order.
  [[nodiscard]] std::vector<SeenRegistration> registrations() const;
  [[nodiscard]] std::size_t registration_count() const;
  /// Whether a server that has these from a token can write there now.
  [[nodiscard]] bool can_write(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
                               std::size_t length) const;
  /// A server's RDMA WRITE. False where the device refuses it. Goes past the sanitizers' eyes, as a
  /// device's access does.
  bool write(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
             std::span<const std::byte> bytes);
  /// Objects made and not ended, devices included.
  [[nodiscard]] int live_objects() const;
  /// Objects that something still depended on when they were to be destroyed.
  [[nodiscard]] int busy_destructions() const;
  [[nodiscard]] int unacknowledged_events() const;

  /// Their state; for recorded_functions.cc alone.
  class Machine;
  [[nodiscard]] Machine& machine() { return *machine_; }

 private:
  std::unique_ptr<Machine> machine_;
};

}  // namespace s3rdmafs::fakes
