// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/rdma/shm/shm_budget.h"

namespace s3rdmafs::target {

/// One region of a client's memory, mapped here. Bytes are moved by pread and pwrite alone, never
/// by touching the mapping: a client that cuts its file short makes those fail with EFAULT, where a
/// load or store would kill the server with SIGBUS. It is also one copy instead of two.
///
/// Thread-safe. Shared: each transfer under way holds it.
class ShmRegion {
 public:
  /// Maps [offset, offset + length) of `fd`, which the caller may close afterwards.
  /// @param share  granted for it by the budget; given back after the mapping is gone
  /// Errors: kInvalidArgument (unaligned, empty, past the file's end), kSystem.
  [[nodiscard]] static Result<std::shared_ptr<ShmRegion>> map(int fd, std::uint64_t offset_bytes,
                                                              std::uint64_t length_bytes,
                                                              rdma::shm::WireAccess access,
                                                              ShmBudget::Share share);
  /// Of no memory yet; for map().
  ShmRegion(rdma::shm::WireAccess access, ShmBudget::Share share)
      : share_(std::move(share)), access_(access) {}
  ShmRegion(const ShmRegion&) = delete;
  ShmRegion& operator=(const ShmRegion&) = delete;
  ~ShmRegion();

  [[nodiscard]] rdma::shm::WireAccess access() const noexcept { return access_; }

  /// The part a token names. Errors: kInvalidArgument where it is not wholly inside the region.
  [[nodiscard]] Result<std::span<std::byte>> window(std::uint64_t offset_bytes,
                                                    std::uint64_t size_bytes) const;

 private:
  const ShmBudget::Share share_;
  std::span<std::byte> bytes_;
  rdma::shm::WireAccess access_;
};

}  // namespace s3rdmafs::target
