// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "cache/readahead/byte_range.h"

namespace s3rdmafs::cache {

/// Follows readers that read slices at equal distances: a column of a table, one process's share of
/// every tensor, or, where the distance is one slice backwards, a file that is read from its end.
/// One per object: slices of several readers at the same distances are one pattern.
///
/// Pure policy: it uses no memory, no clock and no network. Thread-bound, as ReadAhead is.
class Stride {
 public:
  /// The most slices that are asked for ahead of a reader; fewer if the window is full.
  static constexpr std::int64_t kAheadMax = 8;
  /// The same for slices that touch each other and make one request.
  static constexpr std::int64_t kTouchingAheadMax = 64;

  /// The reads to expect of a new run and of later ones.
  struct Plan {
    ByteRange slice;  ///< what this run will read; empty: no pattern
    ByteRanges next;  ///< what later runs will read; may reach past the object's end
  };

  /// A read at `begin` has continued none of `runs`.
  /// @param runs          the runs so far, in any order; those of length 0 are ignored
  /// @param stalled       whether the read has to wait
  /// @param window_bytes  the most bytes to ask for ahead
  [[nodiscard]] Plan on_run(std::uint64_t begin, std::span<const ByteRange> runs, bool stalled,
                            std::uint64_t window_bytes);

 private:
  [[nodiscard]] bool detect(std::uint64_t begin, std::span<const ByteRange> runs);
  void measure(std::uint64_t begin, std::span<const ByteRange> runs);
  [[nodiscard]] std::int64_t steps_from_anchor(std::uint64_t begin) const;
  [[nodiscard]] bool is_expected(std::uint64_t begin) const;

  std::int64_t step_bytes_ = 0;  // from slice to slice; 0: no pattern
  std::uint64_t length_bytes_ = 0;
  std::uint64_t anchor_ = 0;  // begin of the furthest slice that a reader has reached
  std::int64_t asked_ = 0;    // slices after the anchor that were asked for
  std::int64_t ahead_ = 1;    // slices to ask for; doubles when the reader stalls
};

}  // namespace s3rdmafs::cache
