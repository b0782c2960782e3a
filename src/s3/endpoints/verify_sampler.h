// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "s3/store_options.h"

namespace s3rdmafs::s3 {

/// Which transfers by RDMA of one direction are compared with what the server has (rdma.verify).
/// Thread-safe.
class VerifySampler {
 public:
  /// With "sample", so many at first: a fabric that is set up wrong, such as two ends with
  /// different MTUs, is wrong from the beginning.
  static constexpr unsigned kFirst = 16;
  /// And one in so many later: a second read of these costs less than half a per cent.
  static constexpr unsigned kEvery = 256;

  explicit VerifySampler(Verify verify) : verify_(verify) {}

  [[nodiscard]] bool is_on() const { return verify_ != Verify::kOff; }
  /// Asked once for each transfer that the server says is done.
  [[nodiscard]] bool should_verify() {
    if (verify_ != Verify::kSample) return verify_ == Verify::kAlways;
    const unsigned count = count_.fetch_add(1, std::memory_order_relaxed);
    return count < kFirst || count % kEvery == 0;
  }
  /// One was wrong: the next ones are first ones again.
  void start_over() { count_.store(0, std::memory_order_relaxed); }

 private:
  const Verify verify_;
  std::atomic<unsigned> count_{0};
};

}  // namespace s3rdmafs::s3
