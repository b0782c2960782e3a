// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rdma/fabric.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon::doctor {

/// Memory to move test data through: one region that servers may write, one that they may read.
class TestMemory {
 public:
  /// Over 64 packets of the largest path MTU (4 KiB), and enough to tell a bandwidth.
  static constexpr std::size_t kBytes = 4UL * 1024 * 1024;

  /// Borrows the fabric. Errors: kNoMemory, kSystem, and the fabric's.
  [[nodiscard]] static Result<std::unique_ptr<TestMemory>> create(rdma::Fabric& fabric);
  ~TestMemory();
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  [[nodiscard]] rdma::Window landing(std::size_t length) { return {landing_.get(), 0, length}; }
  [[nodiscard]] rdma::Window source(std::size_t length) { return {source_.get(), 0, length}; }
  /// What the test object is known to hold.
  [[nodiscard]] std::vector<std::byte>& expected() { return expected_; }

 private:
  TestMemory() = default;
  UniqueFd file_;
  std::span<std::byte> bytes_;
  std::unique_ptr<rdma::MemoryRegion> landing_;
  std::unique_ptr<rdma::MemoryRegion> source_;
  std::vector<std::byte> expected_;
};

}  // namespace s3rdmafs::daemon::doctor
