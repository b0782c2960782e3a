// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A fabric whose fence() does nothing and reports success: quarantine switched off. Old tokens go
/// on working, which is the planted bug that tests of late writes must see. Borrows the real one.
class LyingFabric final : public rdma::Fabric {
 public:
  explicit LyingFabric(rdma::Fabric& real) : real_(real) {}

  [[nodiscard]] std::string_view name() const noexcept override { return real_.name(); }
  [[nodiscard]] bool is_up() const noexcept override { return real_.is_up(); }
  [[nodiscard]] Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(
      const rdma::Backing& backing, rdma::Access access) override {
    auto region = real_.register_memory(backing, access);
    if (!region) return region;
    return std::make_unique<Region>(std::move(*region));
  }
  void shut_down() override { real_.shut_down(); }

 private:
  class Region final : public rdma::MemoryRegion {
   public:
    explicit Region(std::unique_ptr<rdma::MemoryRegion> real) : real_(std::move(real)) {}
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return real_->bytes(); }
    void token(std::size_t offset, std::size_t length, Deadline deadline,
               Done<rdma::Token> done) override {
      real_->token(offset, length, deadline, std::move(done));
    }
    [[nodiscard]] Result<void> fence() override { return {}; }

   private:
    std::unique_ptr<rdma::MemoryRegion> real_;
  };

  rdma::Fabric& real_;
};

}  // namespace s3rdmafs::fakes
