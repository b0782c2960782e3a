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

/// Registered memory for test data: one region that servers may write to (landing), and one that
/// they may read from (source). Used by one thread.
class TestMemory {
 public:
  /// More than 64 packets of the largest path MTU (4 KiB), and enough to measure a bandwidth.
  static constexpr std::size_t kBytes = 4UL * 1024 * 1024;
  /// For --measure, which uses larger requests.
  static constexpr std::size_t kLongBytes = 16UL * 1024 * 1024;

  /// @param bytes  of each region, a multiple of 2 MiB
  /// Borrows the fabric. Errors: kNoMemory, kSystem, and the fabric's.
  [[nodiscard]] static Result<std::unique_ptr<TestMemory>> create(rdma::Fabric& fabric,
                                                                  std::size_t bytes);
  ~TestMemory();
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  /// Windows of `length` bytes.
  [[nodiscard]] rdma::Window landing(std::size_t length, std::size_t offset = 0) {
    return {landing_.get(), offset, length};
  }
  [[nodiscard]] rdma::Window source(std::size_t length) { return {source_.get(), 0, length}; }
  [[nodiscard]] std::size_t landing_bytes() const { return region_bytes_; }
  /// The first bytes of the test object; empty at first.
  [[nodiscard]] std::vector<std::byte>& expected() { return expected_; }
  /// Expects new random bytes, as many as a region has, so that a lost, duplicated or misplaced
  /// packet always shows.
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
