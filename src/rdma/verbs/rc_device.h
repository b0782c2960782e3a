// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rdma/fabric.h"
#include "rdma/verbs/device_events.h"
#include "s3rdmafs/rdma/rc_wire.h"
#include "s3rdmafs/rdma/rdma_devices.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::verbs {

/// One port of one RDMA device, opened for the client's side of the rc dialect: it registers memory
/// and makes the queue pairs through which servers reach that memory. Passive: nothing is ever
/// posted, so one completion queue that stays empty serves all. Thread-safe.
///
/// Shared: sessions and registrations keep it alive, so a device that failed can be replaced while
/// requests still hold some of its sessions.
class RcDevice {
 public:
  /// Errors: kNotFound, kUnreachable (the port is not active), kSystem with the call that failed.
  [[nodiscard]] static Result<std::shared_ptr<RcDevice>> open(const ChosenPort& where);

  [[nodiscard]] const ChosenPort& where() const noexcept { return where_; }

  /// Least access: remote write for GET, remote read for PUT.
  /// @param iova  the address by which servers know the first byte
  /// Errors: kNoMemory, with the limit on locked memory where that is the reason; kSystem.
  [[nodiscard]] Result<Registration> register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                                     Access access);

  /// A queue pair that has a number, but is not connected.
  [[nodiscard]] Result<QueuePair> make_queue_pair();
  [[nodiscard]] rc::Endpoint endpoint_of(const QueuePair& pair) const;
  /// Brings the pair to "ready to receive". This side never sends, so it needs no more.
  /// @param psn  of the first packet that the server sends
  [[nodiscard]] Result<void> connect(const QueuePair& pair, const rc::Endpoint& server,
                                     std::uint32_t psn);

  /// The next event, if there is one. Does not wait. One thread.
  [[nodiscard]] std::optional<DeviceEvent> next_event();
  /// Readable when there is an event.
  [[nodiscard]] int event_fd() const noexcept { return context_->async_fd; }

  [[nodiscard]] PortState state() const;

 private:
  RcDevice(ChosenPort where, Context context)
      : where_(std::move(where)), context_(std::move(context)) {}

  const ChosenPort where_;
  ibv_mtu mtu_{};
  // In order of dependency: gone in reverse.
  Context context_;
  ProtectionDomain domain_;
  CompletionQueue completions_;
};

}  // namespace s3rdmafs::rdma::verbs
