// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// A stretch of an object, [begin, end) in bytes. Empty where begin == end.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
};

/// Decides what to fetch before it is asked for. One per object, shared by all its readers: a
/// *stream* is a reader that goes forward through a band of offsets, and the bands of many
/// processes, threads and shared descriptors are told apart by offset alone.
///
/// A stream's window doubles only when its reader had to wait, and its next stretch is asked for
/// when less than half of the window is left. A single read somewhere starts no read-ahead; a first
/// read at offset 0 does, since that is how files are read.
///
/// Pure policy: no memory, no clock, no network. Thread-bound: BlockCache's lock guards it.
class ReadAhead {
 public:
  /// The first window: one round trip's worth on a fast fabric, cheap to be wrong about.
  static constexpr std::uint64_t kWindowFirstBytes = 1 * kMiB;
  /// Readers told apart in one object; the least recently active gives way. 16 covers a node's
  /// loader processes.
  static constexpr std::size_t kStreamsMax = 16;
  /// How far a read may be from where its stream is expected: kernels send the parts of one read
  /// out of order, and readers skip small gaps.
  static constexpr std::uint64_t kSlackBytes = 1 * kMiB;

  explicit ReadAhead(std::uint64_t object_bytes) : object_bytes_(object_bytes) {}

  /// Tells of one read; returns what to fetch now, beyond the read itself.
  /// @param stalled           whether the read found its bytes missing or still on their way
  /// @param window_max_bytes  what memory allows a stream at this moment; 0 switches read-ahead off
  [[nodiscard]] ByteRange on_read(std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                  bool stalled, std::uint64_t window_max_bytes);

  /// Whether a read here would be a step of a stream. Ask before telling of it.
  [[nodiscard]] bool expects(std::uint64_t offset_bytes) const;

 private:
  struct Stream {
    std::uint64_t next = 0;          // where the reader is expected
    std::uint64_t fetched_to = 0;    // end of what was asked for
    std::uint64_t window_bytes = 0;  // 0: no pattern yet
    std::uint64_t last_read = 0;     // 0: unused
  };

  [[nodiscard]] const Stream* find(std::uint64_t offset_bytes) const;
  [[nodiscard]] Stream& begin_stream(std::uint64_t offset_bytes);

  std::uint64_t object_bytes_;
  std::array<Stream, kStreamsMax> streams_{};
  std::uint64_t reads_ = 0;  // the clock of last_read
};

}  // namespace s3rdmafs::cache
