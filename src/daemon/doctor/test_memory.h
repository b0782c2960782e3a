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
  /// The same where there is time to measure larger requests.
  static constexpr std::size_t kLongBytes = 16UL * 1024 * 1024;

  /// @param bytes  of each region, a multiple of 2 MiB
  /// Borrows the fabric. Errors: kNoMemory, kSystem, and the fabric's.
  [[nodiscard]] static Result<std::unique_ptr<TestMemory>> create(rdma::Fabric& fabric,
                                                                  std::size_t bytes);
  ~TestMemory();
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  [[nodiscard]] rdma::Window landing(std::size_t length, std::size_t offset = 0) {
    return {landing_.get(), offset, length};
  }
  [[nodiscard]] rdma::Window source(std::size_t length) { return {source_.get(), 0, length}; }
  [[nodiscard]] std::size_t landing_bytes() const { return region_bytes_; }
  /// What the test object is known to hold; empty at first.
  [[nodiscard]] std::vector<std::byte>& expected() { return expected_; }
  /// Random bytes, as many as a region has, become what is expected: a packet that is lost, doubled
  /// or out of place always shows.
  void expect_other_bytes();

 private:
  explicit TestMemory(std::size_t region_bytes) : region_bytes_(region_bytes) {}
  const std::size_t region_bytes_;
  UniqueFd file_;
  std::span<std::byte> bytes_;
  std::unique_ptr<rdma::MemoryRegion> landing_;
  std::unique_ptr<rdma::MemoryRegion> source_;
  std::vector<std::byte> expected_;
};

}  // namespace s3rdmafs::daemon::doctor
