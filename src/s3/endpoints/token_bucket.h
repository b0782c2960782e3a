// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace s3rdmafs::s3 {

/// Keeps an action rare: it fills by fractions and pays for one action at a time. The tokens are
/// those of the field's term and have nothing to do with RDMA. Plain value; the owner locks.
class TokenBucket {
 public:
  /// @param capacity  the most that it holds, at least 1
  constexpr TokenBucket(double capacity, double tokens) : capacity_(capacity), tokens_(tokens) {}

  void add(double tokens) { tokens_ = std::min(capacity_, tokens_ + tokens); }

  /// Takes one token out; false if there is less than one.
  [[nodiscard]] bool try_take() {
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  double capacity_;
  double tokens_;
};

}  // namespace s3rdmafs::s3
