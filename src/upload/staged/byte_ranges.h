// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

namespace s3rdmafs::upload {

/// The bytes from `begin` up to, and without, `end`.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// A set of bytes of a file: ordered ranges that neither overlap nor touch. Operations on one range
/// cost O(log n) and what they remove. Plain value, not thread-safe.
class ByteRanges {
 public:
  ByteRanges() = default;
  /// Any ranges, in any order.
  ByteRanges(std::initializer_list<ByteRange> ranges) {
    for (const ByteRange& range : ranges) add(range);
  }

  void add(ByteRange range);
  void add(const ByteRanges& others);
  void subtract(ByteRange range);
  void subtract(const ByteRanges& others);
  void clear() noexcept {
    ranges_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  /// How many ranges.
  [[nodiscard]] std::size_t count() const noexcept { return ranges_.size(); }
  /// How many bytes, over all ranges.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The end of the last range; 0 where there is none.
  [[nodiscard]] std::uint64_t end() const noexcept;
  [[nodiscard]] bool contains(ByteRange range) const;
  [[nodiscard]] bool intersects(ByteRange range) const;

  /// Of the bytes of `within`, those that are in the set.
  [[nodiscard]] ByteRanges intersect(ByteRange within) const;
  /// Of the bytes of `within`, those that are not.
  [[nodiscard]] ByteRanges complement(ByteRange within) const;
  /// Each range widened to multiples of `step`, not necessarily a power of two.
  [[nodiscard]] ByteRanges widened(std::uint64_t step) const;

  /// In order.
  [[nodiscard]] std::vector<ByteRange> list() const;

  friend bool operator==(const ByteRanges& a, const ByteRanges& b) {
    return a.ranges_ == b.ranges_;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< begin -> end
  std::uint64_t bytes_ = 0;
};

}  // namespace s3rdmafs::upload
