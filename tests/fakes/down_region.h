// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A region whose fabric is down: memory, but no tokens.
class DownRegion final : public rdma::MemoryRegion {
 public:
  explicit DownRegion(std::size_t size_bytes) : memory_(size_bytes) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_; }
  [[nodiscard]] Result<std::string> token(std::size_t, std::size_t) override {
    return fail(ErrorCode::kUnreachable, "the fabric is down");
  }
  [[nodiscard]] Result<void> renew() override {
    return fail(ErrorCode::kUnreachable, "the fabric is down");
  }

 private:
  mutable std::vector<std::byte> memory_;  // never resized; bytes() is const in the interface
};

}  // namespace s3rdmafs::fakes
