// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "rdma/fabric.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/verbs/device_events.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::mlx5 {

using verbs::CompletionQueue;
using verbs::Context;
using verbs::ProtectionDomain;
using verbs::QueuePair;
using verbs::Registration;
using verbs::SharedReceiveQueue;

/// A DC target on one port, and the protection domain that memory is registered in: all that a
/// server's DC initiators need. Passive: nothing is ever posted and no completion ever comes
/// (s3rdmafs-protocol(7)). register_memory() and event_fd() are thread-safe; the rest needs the
/// rail's lifecycle lock.
class DcTarget {
 public:
  using Event = verbs::DeviceEvent;
  using Port = verbs::PortState;

  /// Errors: kUnreachable where the port is not active; kUnsupported where the device is
  /// not a ConnectX or lacks DC; kNotFound; kSystem, with the call that failed.
  [[nodiscard]] static Result<std::unique_ptr<DcTarget>> open(const RailPort& where,
                                                              std::uint64_t dc_key);

  [[nodiscard]] const DcAddress& address() const noexcept { return address_; }

  /// @param iova  the address by which servers know the first byte
  /// Errors: kNoMemory, with the limit on locked memory where that is the reason; kSystem.
  [[nodiscard]] Result<Registration> register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                                     Access access);

  /// The next event, if there is one. Does not wait.
  [[nodiscard]] std::optional<Event> next_event();
  /// Readable when there is an event. The same for the life of this object.
  [[nodiscard]] int event_fd() const noexcept { return context_->async_fd; }
  [[nodiscard]] Port port() const;

 private:
  DcTarget(RailPort where, Context context)
      : where_(std::move(where)), context_(std::move(context)) {}

  [[nodiscard]] Result<void> read_port();
  [[nodiscard]] Result<void> create(std::uint64_t dc_key);
  [[nodiscard]] Result<void> make_ready();

  const RailPort where_;
  DcAddress address_;
  ibv_mtu mtu_{};

  // In order of dependency: gone in reverse.
  Context context_;
  ProtectionDomain protection_domain_;
  CompletionQueue completion_queue_;
  SharedReceiveQueue receive_queue_;
  QueuePair target_;
};

}  // namespace s3rdmafs::rdma::mlx5
