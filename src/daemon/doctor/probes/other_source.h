// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "rdma/fabric.h"

namespace s3rdmafs::daemon::doctor {

struct Context;

/// Finds an address of this host, other than `source_address`, from which the first endpoint can be
/// reached; empty where there is none. Blocks for about 10 s at most.
[[nodiscard]] std::string find_other_source(const Context& context,
                                            const std::string& source_address);

/// A region whose requests are sent from another address than its tokens ask for, so that replies
/// take another route than the bytes. Borrows the region.
class OtherSourceRegion final : public rdma::MemoryRegion {
 public:
  OtherSourceRegion(rdma::MemoryRegion& real, std::string source_address)
      : real_(real), source_address_(std::move(source_address)) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return real_.bytes(); }
  void token(std::size_t offset, std::size_t length, Deadline deadline,
             Done<rdma::Token> done) override {
    real_.token(
        offset, length, deadline,
        [source = source_address_, done = std::move(done)](Result<rdma::Token> token) mutable {
          if (!token) return done(std::move(token));
          std::string text = token->text();
          done(rdma::Token(
              std::move(text),
              [real = std::move(*token)](rdma::TokenFate fate) mutable { real.end(fate); },
              std::move(source)));
        });
  }
  [[nodiscard]] Result<void> fence() override { return real_.fence(); }

 private:
  rdma::MemoryRegion& real_;
  const std::string source_address_;
};

}  // namespace s3rdmafs::daemon::doctor
