// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::rdma::shm {

/// The client's end of one connection to a server's shm socket (include/s3rdmafs/rdma/shm_wire.h).
/// ShmFabric guards it; any thread may call hung_up().
class ShmSession {
 public:
  /// How long one exchange may take before the session counts as stuck. The server answers from
  /// memory, but waits for a copy under way (up to 4 MiB from a disk) before kDeregistered.
  static constexpr std::chrono::seconds kExchangeTimeout{5};

  /// Connects and says hello. `socket_name` is a path, or "@name" in the abstract name space.
  /// Errors: kUnreachable (no server listens), kAccessDenied (the server is neither root's nor
  /// ours: it would see the whole cache), kProtocol (another version), kTimedOut.
  [[nodiscard]] static Result<ShmSession> connect(const std::string& socket_name);

  [[nodiscard]] const SessionId& id() const noexcept { return id_; }

  /// Hands over [offset, offset + length) of `fd`. Returns the region's key.
  [[nodiscard]] Result<std::uint64_t> register_region(int fd, std::uint64_t offset_bytes,
                                                      std::uint64_t length_bytes,
                                                      WireAccess access);
  /// Returns once no transfer touches the region any more.
  [[nodiscard]] Result<void> deregister_region(std::uint64_t region_key);

  /// Asks the server to end the session; it drains all transfers and then hangs up.
  void request_end() noexcept;

  /// Waits up to `timeout` for the server to hang up. The connection ends, by the server or by its
  /// death, only when none of the server's threads can touch our memory any more.
  /// @param wake  a descriptor that ends the wait when it is readable; -1: none
  [[nodiscard]] bool hung_up(std::chrono::milliseconds timeout, int wake = -1) const noexcept;

 private:
  explicit ShmSession(UniqueFd socket) : socket_(std::move(socket)) {}
  [[nodiscard]] Result<Message> exchange(const Message& request, int fd, MessageType expected);

  UniqueFd socket_;
  SessionId id_{};
};

}  // namespace s3rdmafs::rdma::shm
