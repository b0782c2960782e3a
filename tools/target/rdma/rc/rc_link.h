// SPDX-License-Identifier: Apache-2.0
// The part of a device that the rc dialect's server needs: so little that tests replace it by
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/rc_wire.h"

namespace s3rdmafs::target {

/// Registered memory of this server, through which a transfer passes.
struct StagingBuffer {
  std::span<std::byte> bytes;
  std::uint32_t lkey = 0;
};

/// Where in the client's memory a piece lies.
struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// The server's end of one connected queue pair. Used by one thread at a time. After an error it is
/// good for nothing; destroying it ends whatever it still did.
class RcLink {
 public:
  virtual ~RcLink() = default;

  /// RDMA WRITE of `length` bytes from the buffer's front; all have arrived when it returns.
  /// Errors: kAccessDenied (the client's memory does not allow it), kTimedOut, kUnreachable.
  [[nodiscard]] virtual Result<void> write(const StagingBuffer& from, std::size_t length,
                                           RemoteMemory to) = 0;

  /// RDMA READ of `length` bytes to the buffer's front. Errors: as write().
  [[nodiscard]] virtual Result<void> read(const StagingBuffer& into, std::size_t length,
                                          RemoteMemory from) = 0;
};

/// A link, and the facts that its client needs.
struct RcConnection {
  rdma::rc::Endpoint endpoint;
  std::uint32_t psn = 0;
  std::unique_ptr<RcLink> link;
};

/// Makes links. Thread-safe.
class RcConnector {
 public:
  virtual ~RcConnector() = default;

  /// A queue pair ready to send to the client's.
  /// Errors: kSystem (the device refused), kUnreachable (no way to that address).
  [[nodiscard]] virtual Result<RcConnection> connect(const rdma::rc::Endpoint& client,
                                                     std::uint32_t client_psn) = 0;
};

}  // namespace s3rdmafs::target
