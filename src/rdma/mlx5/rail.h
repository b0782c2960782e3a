// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "rdma/mlx5/dc_target.h"
#include "rdma/mlx5/rail_health.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::mlx5 {

/// One port of the dc fabric: its DC target, and whether tokens may name it now.
///
/// States. *closed*: no target; nothing is registered here. *up*: tokens are given. *down*: the
/// port is not active; target and registrations stay, since the port may come back unchanged.
///
/// Threads: thread-safe. Code that opens or closes it takes its `lifecycle` lock, for as long as
/// the verbs take; nothing else does.
class Rail {
 public:
  Mutex lifecycle;  ///< lock order 6a: over opening, closing and the device's events

  /// The target that a token names, and the address that its request should come from.
  struct Reach {
    DcAddress target;
    /// Of the port; empty where its GID is not an IP address, or where connections from it fail.
    std::string source_address;
  };

  /// Closed. Borrows the clock.
  Rail(RailPort where, std::uint64_t dc_key, const Clock& clock)
      : where_(std::move(where)), dc_key_(dc_key), health_(clock) {}

  [[nodiscard]] std::string name() const { return where_.name(); }

  /// Nothing while tokens must not name this rail.
  [[nodiscard]] std::optional<Reach> reach() const;
  [[nodiscard]] bool is_up() const noexcept { return is_up_.load(); }
  /// Whether the next token may be for it; see RailHealth.
  [[nodiscard]] bool may_take() noexcept { return health_.may_take(); }
  /// A token for this rail, over so many bytes, was given out; on_end() ends it.
  void on_begin(std::size_t bytes) noexcept { outstanding_bytes_.fetch_add(bytes); }
  /// @param is_bound  whether the request was to come from the rail's address
  void on_end(std::size_t bytes, TokenFate fate, bool is_bound) noexcept;
  [[nodiscard]] std::uint64_t outstanding_bytes() const noexcept {
    return outstanding_bytes_.load();
  }

  /// closed -> up. Errors: those of DcTarget::open; it stays closed.
  [[nodiscard]] Result<void> open() REQUIRES(lifecycle);
  /// Any -> closed: from now on there is no target for new registrations. The device is closed when
  /// its last owner lets go: the caller, and what is still registered with it.
  [[nodiscard]] std::shared_ptr<DcTarget> withdraw() REQUIRES(lifecycle);
  /// The target, or nullptr while closed.
  [[nodiscard]] std::shared_ptr<DcTarget> target() const {
    const MutexLock lock(mutex_);
    return target_;
  }
  /// Readable when the device has an event; empty while closed. A descriptor of its own, since the
  /// device may be closed while a thread waits for it.
  [[nodiscard]] UniqueFd events() const;

  /// Handles the device's events, and queries a port that is down: up <-> down.
  /// @return  false when the rail has to be closed: it is broken, or its address has changed
  [[nodiscard]] bool take_events() REQUIRES(lifecycle);

 private:
  void set_up(bool up);

  const RailPort where_;
  const std::uint64_t dc_key_;
  RailHealth health_;
  std::atomic<std::uint64_t> outstanding_bytes_{0};  // of the tokens that have not ended

  mutable Mutex mutex_;  // lock order 6d: leaf
  std::shared_ptr<DcTarget> target_ GUARDED_BY(mutex_);
  Reach reach_ GUARDED_BY(mutex_);
  std::atomic<bool> is_up_{false};  // changes under mutex_ only
};

/// The IP address that a RoCE port's GID contains, as text; empty for link-local ones and on
/// InfiniBand.
[[nodiscard]] std::string ip_address_of(const DcAddress& address);

}  // namespace s3rdmafs::rdma::mlx5
