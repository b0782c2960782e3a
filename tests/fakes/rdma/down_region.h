// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A region whose fabric is down: memory, but no tokens, or only after some were refused.
class DownRegion final : public rdma::MemoryRegion {
 public:
  static constexpr int kForEver = -1;

  explicit DownRegion(std::size_t size_bytes, int tokens_refused = kForEver)
      : memory_(size_bytes), tokens_refused_(tokens_refused) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_; }
  void token(std::size_t, std::size_t, Deadline, Done<rdma::Token> done) override {
    if (tokens_refused_ == 0) return done(rdma::Token("fake:back"));
    if (tokens_refused_ > 0) --tokens_refused_;
    done(fail(ErrorCode::kUnreachable, "the fabric is down"));
  }
  [[nodiscard]] Result<void> fence() override {
    return fail(ErrorCode::kUnreachable, "the fabric is down");
  }

 private:
  mutable std::vector<std::byte> memory_;  // never resized; bytes() is const in the interface
  int tokens_refused_;                     // left to refuse; kForEver: all
};

}  // namespace s3rdmafs::fakes
