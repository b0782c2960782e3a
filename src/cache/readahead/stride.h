// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "cache/readahead/byte_range.h"

namespace s3rdmafs::cache {

/// Follows readers that take slices at equal distances: a column of a table, one process' share of
/// every tensor, and, where the distance is a slice backwards, a file read from its end. One per
/// object: slices of several readers that lie on the same lattice are one pattern.
///
/// Pure policy: no memory, no clock, no network. Thread-bound, as ReadAhead is.
class Stride {
 public:
  /// So many slices are asked for ahead of a reader at most, and less where the window is full.
  static constexpr std::int64_t kAheadMax = 8;
  /// The same where slices touch each other and make one request.
  static constexpr std::int64_t kTouchingAheadMax = 64;

  /// What the beginning of a run at `begin` shows.
  struct Plan {
    ByteRange slice;  ///< what this run will read; empty: no pattern
    ByteRanges next;  ///< what others will; may reach past the object's end
  };

  /// A read at `begin` continued none of `runs`, which are the runs so far in any order; those of
  /// length 0 are none.
  /// @param stalled       whether it had to wait
  /// @param window_bytes  how much may be asked for ahead
  [[nodiscard]] Plan on_run(std::uint64_t begin, std::span<const ByteRange> runs, bool stalled,
                            std::uint64_t window_bytes);

 private:
  [[nodiscard]] bool detect(std::uint64_t begin, std::span<const ByteRange> runs);
  void measure(std::uint64_t begin, std::span<const ByteRange> runs);
  [[nodiscard]] std::int64_t steps_from_anchor(std::uint64_t begin) const;
  [[nodiscard]] bool is_expected(std::uint64_t begin) const;

  std::int64_t step_bytes_ = 0;  // from slice to slice; 0: no pattern
  std::uint64_t length_bytes_ = 0;
  std::uint64_t anchor_ = 0;  // where the furthest slice that a reader came to begins
  std::int64_t asked_ = 0;    // slices from the anchor on that were asked for
  std::int64_t ahead_ = 1;    // slices that should be; doubles when the reader stalls
};

}  // namespace s3rdmafs::cache
