// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/rdma/transfer_service.h"

namespace s3rdmafs::target {

/// Gives each token to the fabric whose form it has, so that one server serves all of them at once.
/// Thread-safe.
class TokenDispatch final : public TransferService {
 public:
  /// Both borrowed, either may be nullptr: not served.
  TokenDispatch(TransferService* shm, TransferService* rc) : shm_(shm), rc_(rc) {}

  [[nodiscard]] bool serves(std::string_view token) const override {
    return service_of(token) != nullptr;
  }
  [[nodiscard]] bool moves_bytes(std::string_view token) const override;
  [[nodiscard]] Result<std::uint64_t> window_size(std::string_view token) override;
  [[nodiscard]] Result<void> write_part(std::string_view token, std::uint64_t window_offset, int fd,
                                        std::uint64_t file_offset, std::uint64_t length) override;
  [[nodiscard]] Result<void> read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                         std::uint64_t length) override;

 private:
  [[nodiscard]] TransferService* service_of(std::string_view token) const;

  TransferService* shm_;
  TransferService* rc_;
};

}  // namespace s3rdmafs::target
