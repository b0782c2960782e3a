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
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::mlx5 {

using verbs::CompletionQueue;
using verbs::Context;
using verbs::ProtectionDomain;
using verbs::QueuePair;
using verbs::Registration;
using verbs::SharedReceiveQueue;

/// A DC target on one port, and what memory is registered with: everything a server's DC initiators
/// need of us. Passive: nothing is ever posted and no completion ever comes (s3rdmafs-protocol(7)).
/// register_memory() and event_fd() are thread-safe; the rest belongs to whoever holds the rail's
/// lifecycle lock.
class DcTarget {
 public:
  /// What the device had to say.
  enum class Event {
    kPortMayDiffer,  ///< up, down, or with another LID or GID: ask port()
    kBroken,         ///< device or target in error: of no more use
  };
  enum class Port {
    kAsOpened,
    kDown,
    kChanged,  ///< active, but the address or MTU that the target was made with no longer holds
  };

  /// Errors: kUnreachable where the port is not active; kUnsupported where the device is no
  /// ConnectX or lacks DC; kNotFound; kSystem, with the call that failed.
  [[nodiscard]] static Result<std::unique_ptr<DcTarget>> open(const RailPort& where,
                                                              std::uint64_t dc_key);

  [[nodiscard]] const DcAddress& address() const noexcept { return address_; }

  /// @param iova  by which address servers know the first byte
  /// Errors: kNoMemory, with the limit on locked memory where that is the reason; kSystem.
  [[nodiscard]] Result<Registration> register_memory(std::span<std::byte> bytes, std::uint64_t iova,
                                                     Access access);

  /// The next event, if there is one. Does not wait.
  [[nodiscard]] std::optional<Event> next_event();
  /// Readable when there is an event. Changes with no one but this object.
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
