// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace s3rdmafs::cache {

/// A range of an object, [begin, end) in bytes. Empty where begin >= end.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  [[nodiscard]] std::uint64_t size() const noexcept { return empty() ? 0 : end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// A few ranges without an allocation: every read makes a plan, hits too.
class ByteRanges {
 public:
  /// Room for the rest of a slice, eight slices ahead, and an object's tail.
  static constexpr std::size_t kMax = 10;

  /// Joins a range that touches the last one. Ignores an empty range, and any range when full.
  void add(ByteRange range) noexcept {
    if (range.empty()) return;
    if (count_ > 0) {
      ByteRange& last = ranges_.at(count_ - 1);
      if (range.begin <= last.end && last.begin <= range.end) {
        last.begin = range.begin < last.begin ? range.begin : last.begin;
        last.end = range.end > last.end ? range.end : last.end;
        return;
      }
    }
    if (count_ < kMax) ranges_.at(count_++) = range;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] const ByteRange* begin() const noexcept { return ranges_.data(); }
  [[nodiscard]] const ByteRange* end() const noexcept { return ranges_.data() + count_; }

 private:
  std::array<ByteRange, kMax> ranges_{};
  std::size_t count_ = 0;
};

}  // namespace s3rdmafs::cache
