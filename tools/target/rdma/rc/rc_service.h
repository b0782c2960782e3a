// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "s3rdmafs/base/clock.h"
#include "target/rdma/rc/rc_link.h"
#include "target/rdma/rc/rc_sessions.h"
#include "target/rdma/staging_pool.h"
#include "target/rdma/transfer_service.h"

namespace s3rdmafs::target {

/// The server side of the rc dialect (s3rdmafs-protocol(7)): sessions are made by connect(),
/// and tokens name a session and a window of the client's memory. Thread-safe.
///
/// Where a transfer fails, nothing else does: bytes are moved to or from the file given, and what
/// becomes of an object is decided by the caller, after success.
class RcService final : public TransferService {
 public:
  /// @param connector  borrowed, as is `staging`; both outlive the service
  RcService(RcConnector& connector, StagingPool& staging, const Clock& clock)
      : connector_(connector), staging_(staging), sessions_(clock) {}

  /// The description of a new session for its client.
  struct Opened {
    std::string session_id;
    rdma::rc::Endpoint endpoint;
    std::uint32_t psn = 0;
  };
  /// Errors: kThrottled (too many sessions), others: the device refused.
  [[nodiscard]] Result<Opened> connect(const rdma::rc::Endpoint& client, std::uint32_t client_psn);
  void disconnect(std::string_view session_id) { sessions_.remove(session_id); }

  [[nodiscard]] Result<std::uint64_t> window_size(std::string_view token) override;
  [[nodiscard]] Result<void> write_part(std::string_view token, std::uint64_t window_offset, int fd,
                                        std::uint64_t file_offset, std::uint64_t length) override;
  [[nodiscard]] Result<void> read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                         std::uint64_t length) override;

 private:
  template <class MovePiece>
  Result<void> transfer(std::string_view token, std::uint64_t window_offset, std::uint64_t length,
                        MovePiece move_piece);

  RcConnector& connector_;
  StagingPool& staging_;
  RcSessions sessions_;
};

}  // namespace s3rdmafs::target
