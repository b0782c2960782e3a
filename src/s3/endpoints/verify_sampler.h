// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "s3/store_options.h"

namespace s3rdmafs::s3 {

/// Which RDMA transfers of one direction are compared with what the server has (rdma.verify).
/// Thread-safe.
class VerifySampler {
 public:
  /// With "sample" the first transfers are compared: a fabric that is set up wrong, such as two
  /// ends with different MTUs, is wrong from the beginning.
  static constexpr unsigned kFirst = 16;
  /// Later one in this many is: reading those twice costs less than half a per cent.
  static constexpr unsigned kEvery = 256;

  explicit VerifySampler(Verify verify) : verify_(verify) {}

  [[nodiscard]] bool is_on() const { return verify_ != Verify::kOff; }
  /// Call once for each transfer that the server says is done.
  [[nodiscard]] bool should_verify() {
    if (verify_ != Verify::kSample) return verify_ == Verify::kAlways;
    const unsigned count = count_.fetch_add(1, std::memory_order_relaxed);
    return count < kFirst || count % kEvery == 0;
  }
  /// A transfer was wrong: the next ones count as the first again.
  void start_over() { count_.store(0, std::memory_order_relaxed); }

 private:
  const Verify verify_;
  std::atomic<unsigned> count_{0};
};

}  // namespace s3rdmafs::s3
