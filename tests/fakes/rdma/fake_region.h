// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A region over plain heap memory. Its tokens name its generation, which fence() ends.
class FakeRegion final : public rdma::MemoryRegion {
 public:
  explicit FakeRegion(std::size_t size_bytes) : memory_(size_bytes) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_; }

  void token(std::size_t offset, std::size_t length, Deadline, Done<rdma::Token> done) override {
    done(rdma::Token(
        "fake:" + std::to_string(fences_.load()) + ":" + std::to_string(offset) + ":" +
            std::to_string(length),
        [this](rdma::TokenFate fate) { last_fate_ = fate; }, source_address_));
  }

  [[nodiscard]] Result<void> fence() override {
    ++fences_;
    return {};
  }
  void drop_sessions() override {
    // Tokens that are on loan must come back later, to be dropped too.
    fate_when_dropped_ = last_fate_.load();
    ++session_drops_;
  }

  /// The source_address() of the tokens from here on.
  void set_source_address(std::string address) { source_address_ = std::move(address); }
  [[nodiscard]] int fences() const { return fences_; }
  [[nodiscard]] int session_drops() const { return session_drops_; }
  /// last_fate() at the last drop_sessions().
  [[nodiscard]] std::optional<rdma::TokenFate> fate_when_dropped() const {
    return fate_when_dropped_.load();
  }
  /// How the last request that carried a token ended; nothing while none has.
  [[nodiscard]] std::optional<rdma::TokenFate> last_fate() const { return last_fate_.load(); }

 private:
  mutable std::vector<std::byte> memory_;  // never resized; bytes() is const in the interface
  std::string source_address_;
  std::atomic<int> fences_{0};
  std::atomic<int> session_drops_{0};
  std::atomic<std::optional<rdma::TokenFate>> fate_when_dropped_{};
  std::atomic<std::optional<rdma::TokenFate>> last_fate_{};
};

}  // namespace s3rdmafs::fakes
