// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A region over plain heap memory. Its tokens name its generation, which renew() ends.
class FakeRegion final : public rdma::MemoryRegion {
 public:
  explicit FakeRegion(std::size_t size_bytes) : memory_(size_bytes) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_; }

  [[nodiscard]] Result<std::string> token(std::size_t offset, std::size_t length) override {
    return "fake:" + std::to_string(renewals_.load()) + ":" + std::to_string(offset) + ":" +
           std::to_string(length);
  }

  [[nodiscard]] Result<void> renew() override {
    ++renewals_;
    return {};
  }

  [[nodiscard]] int renewals() const { return renewals_; }

 private:
  mutable std::vector<std::byte> memory_;  // never resized; bytes() is const in the interface
  std::atomic<int> renewals_{0};
};

}  // namespace s3rdmafs::fakes
