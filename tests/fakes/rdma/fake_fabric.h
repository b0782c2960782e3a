// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "rdma/fabric.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fakes {

/// A fabric over the caller's own memory whose fences the test allows or refuses. Counts what is
/// registered. Thread-safe.
class FakeFabric final : public rdma::Fabric {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "fake"; }
  [[nodiscard]] bool is_up() const noexcept override { return true; }

  [[nodiscard]] Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(
      const rdma::Backing& backing, rdma::Access) override {
    ++registrations_;
    return std::make_unique<Region>(*this, backing.bytes);
  }

  void let_fences_fail(bool fail) { fences_fail_ = fail; }
  /// While held, fence() waits, as for a slow server.
  void hold_fences(bool hold) {
    {
      const MutexLock lock(mutex_);
      holding_ = hold;
    }
    released_.notify_all();
  }
  [[nodiscard]] int fences() const { return fences_; }
  [[nodiscard]] int registrations() const { return registrations_; }

 private:
  class Region final : public rdma::MemoryRegion {
   public:
    Region(FakeFabric& fabric, std::span<std::byte> bytes) : fabric_(fabric), bytes_(bytes) {}
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }
    void token(std::size_t, std::size_t, Deadline, Done<rdma::Token> done) override {
      done(rdma::Token("fake"));
    }
    [[nodiscard]] Result<void> fence() override {
      fabric_.wait_while_held();
      if (fabric_.fences_fail_) return fail(ErrorCode::kTimedOut, "the test says no");
      ++fabric_.fences_;
      return {};
    }

   private:
    FakeFabric& fabric_;
    std::span<std::byte> bytes_;
  };

  void wait_while_held() {
    // For a test that forgets to release.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const MutexLock lock(mutex_);
    while (holding_ && released_.wait_until(mutex_, deadline)) {
    }
  }

  Mutex mutex_;  // leaf
  CondVar released_;
  bool holding_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> fences_fail_{false};
  std::atomic<int> fences_{0};
  std::atomic<int> registrations_{0};
};

}  // namespace s3rdmafs::fakes
