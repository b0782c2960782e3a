// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rdma/token.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/interface.h"

namespace s3rdmafs::rdma {

/// The server's rights to a region: never more than one transfer direction needs
/// (s3rdmafs-protocol(7), LATE TRANSFERS).
enum class Access {
  kRemoteWrite,  ///< GET: the server writes into it
  kRemoteRead,   ///< PUT: the server reads out of it
};

/// Memory offered for registration: `bytes`, which is [offset, offset + bytes.size()) of the file
/// `fd` mapped shared. Fabrics that register by address ignore the file.
struct Backing {
  int fd = -1;  ///< borrowed; stays open as long as the region lives
  std::uint64_t offset_bytes = 0;
  std::span<std::byte> bytes;
};

/// Registered memory. A region has one owner, which destroys it before the memory. Destroying it
/// ends the server's right to touch the memory, as fence() does.
///
/// Threads: token() may be called by any thread at any time; fence() by one at a time.
class MemoryRegion : public Interface {
 public:
  [[nodiscard]] virtual std::span<std::byte> bytes() const noexcept = 0;

  /// Makes a token for exactly [offset, offset + length) of this region, in bytes. Calls `done` at
  /// once where a token is only text (shm, dc), and when a session is free where it needs one (rc).
  /// Errors: kUnreachable while the fabric is down, or where no session came free by `deadline` or
  /// within the fabric's own bound: the caller goes by HTTP. kCancelled after shut_down().
  virtual void token(std::size_t offset, std::size_t length, Deadline deadline,
                     Done<Token> done) = 0;

  /// This memory for one server of the store: where tokens belong to a server, another region,
  /// which this one owns. `endpoint` counts from 0 in the order of endpoint.urls.
  [[nodiscard]] virtual MemoryRegion& for_endpoint(std::size_t endpoint) noexcept {
    static_cast<void>(endpoint);
    return *this;
  }

  /// Forgets what was agreed with the server (rc: sessions), since the server may have been
  /// restarted: later tokens use none of it. Does not block. Any thread.
  virtual void drop_sessions() {}

  /// The fence against late writes: once it returns without error, no token handed out before can
  /// touch the memory any more, and new tokens work. Blocks for a bounded time (a registration;
  /// over shm one exchange with the server). Errors: kTimedOut, kUnreachable: not fenced, the
  /// memory must stay in quarantine.
  [[nodiscard]] virtual Result<void> fence() = 0;
};

/// A part of a region: what one token covers, where one transfer goes. Borrows the region.
struct Window {
  MemoryRegion* region = nullptr;
  std::size_t offset = 0;
  std::size_t length = 0;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return region->bytes().subspan(offset, length);
  }
};

/// One way for a server to reach our memory; shm/, verbs/ and mlx5/ have one each. Thread-safe.
/// Outlives its regions.
class Fabric {
 public:
  virtual ~Fabric() = default;

  /// "shm", "rc", "dc"; "none" for the fabric that registers nothing and has no tokens.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Whether the fabric gives tokens now. A fabric that went down comes back by itself.
  [[nodiscard]] virtual bool is_up() const noexcept = 0;

  /// Errors: kNoMemory (locked-memory limit, with the limit to raise), kSystem.
  [[nodiscard]] virtual Result<std::unique_ptr<MemoryRegion>> register_memory(
      const Backing& backing, Access access) = 0;

  /// Ends every wait for a token with kCancelled, and every later one at once. Returns when no such
  /// wait is left. Regions stay as they are.
  virtual void shut_down() {}
};

}  // namespace s3rdmafs::rdma
