// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace s3rdmafs::s3 {

/// The class that a transfer of this length belongs to: 0 for up to 4 KiB, 1 for up to 8 KiB, and
/// so on; the last of `classes` also has all longer ones. Within a factor of two one mean will do,
/// since latency and bandwidth both show in it.
[[nodiscard]] std::size_t size_class(std::size_t length_bytes, std::size_t classes);

/// How long transfers took lately: a mean for each size class, in which old samples fade. Plain
/// value; the owner locks.
class RecentDurations {
 public:
  using Nanoseconds = std::chrono::duration<double, std::nano>;

  /// @param classes      at least 1
  /// @param memory       a new sample weighs at least 1/memory, so about that many samples count
  /// @param samples_min  of a class before its mean is believed
  RecentDurations(std::size_t classes, unsigned memory, unsigned samples_min)
      : memory_(memory), samples_min_(samples_min), means_(classes) {}

  void add(std::size_t length_bytes, std::chrono::nanoseconds took);

  /// Nothing while the class has too few samples.
  [[nodiscard]] std::optional<Nanoseconds> mean(std::size_t length_bytes) const;

 private:
  struct Mean {
    Nanoseconds value{};
    unsigned samples = 0;
  };

  unsigned memory_;
  unsigned samples_min_;
  std::vector<Mean> means_;
};

}  // namespace s3rdmafs::s3
