// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cache/readahead/byte_range.h"
#include "cache/readahead/stride.h"
#include "cache/readahead/transfer_model.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// Decides what to fetch before it is asked for. One per object, shared by all its readers: a
/// *stream* is a reader that goes forward through a band of offsets, and the bands of many
/// processes, threads and shared descriptors are told apart by offset alone.
///
/// A reader is given nothing until it has shown that it goes on; then a first window, which doubles
/// when the reader has to wait, and grows with what was read to what the pace of the transfers
/// makes of use. What is asked for are whole parts, aligned, so that each is one request. A reader
/// that begins anew at equal distances is followed from slice to slice (stride.h). A read at offset
/// 0 is how files are read, and is believed at once; so is, for as much as most had, a run in an
/// object where runs are long; the first read at an object's end gets the whole tail, where Parquet
/// and ZIP (npz, PyTorch) keep their index.
///
/// Pure policy: no memory, no network. Thread-bound: BlockCache's lock guards it.
class ReadAhead {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// What a read finds of its bytes.
  enum class Found : std::uint8_t {
    kAll,
    kOnTheirWay,  ///< it waits for a fill that others, or read-ahead, asked for
    kMissing,     ///< it had to ask for some itself
  };
  struct Read {
    ByteRange range;  ///< not empty, inside the object
    Found found = Found::kAll;
    Time now;
  };
  /// What memory allows at this moment.
  struct Limits {
    std::uint64_t window_max_bytes = 0;  ///< of one stream; 0 switches read-ahead off
    /// Of all streams of the object together. Where it is used up each may still have
    /// pace.first_bytes: a reader without any read-ahead is slower than its share of the memory.
    std::uint64_t budget_bytes = 0;
    Pace pace;
  };

  /// Readers told apart in one object, and the ended runs that a stride is seen in; the least
  /// recently active gives way. 16 covers a node's loader processes.
  static constexpr std::size_t kStreamsMax = 32;
  /// How far from where it is expected a read may be, at most: kernels send the parts of one read
  /// out of order, and readers skip small gaps. Never further than the run is long, so that
  /// scattered reads are not taken for steps.
  static constexpr std::uint64_t kSlackMaxBytes = 1 * kMiB;
  /// A reader that has stopped for so long begins anew: what was fetched for it may be gone.
  static constexpr std::chrono::seconds kIdleAfter{2};
  /// An object's last bytes, of which the first read brings them all. Indexes of some thousand
  /// entries fit, and a wrong guess costs as much as one at offset 0.
  static constexpr std::uint64_t kTailBytes = 1 * kMiB;
  /// A read that ends so near the object's end reads its tail: readers of Parquet ask for the last
  /// 8 bytes to 64 KiB.
  static constexpr std::uint64_t kTailReadBytes = 64 * kKiB;

  explicit ReadAhead(std::uint64_t object_bytes) : object_bytes_(object_bytes) {}

  /// Tells of one read; returns what to fetch now, beyond the read itself.
  [[nodiscard]] ByteRanges on_read(const Read& read, const Limits& limits);

  /// Whether a read of this would be a step of a stream. Ask before telling of it.
  [[nodiscard]] bool expects(ByteRange range) const;

 private:
  struct Stream {
    std::uint64_t begin = 0;         // of the run
    std::uint64_t next = 0;          // where the reader is expected
    std::uint64_t asked_to = 0;      // end of what was asked for
    std::uint64_t stop_at = 0;       // end of the slice, which is not read past; 0: no slice
    std::uint64_t window_bytes = 0;  // 0: not known to go on
    unsigned reads = 1;              // that brought it forward
    Time last_read;
    std::uint64_t last_use = 0;  // of uses_; 0: unused
  };

  [[nodiscard]] std::optional<std::size_t> find(ByteRange range) const;
  [[nodiscard]] static Stream stream_from(const Read& read);
  void begin_run(Stream& stream, const Read& read, const Limits& limits, ByteRanges& ranges);
  void advance(Stream& stream, const Read& read);
  static void size_window(Stream& stream, const Read& read, const Limits& limits);
  void ask_ahead(Stream& stream, const Read& read, const Limits& limits, ByteRanges& ranges);
  /// What a stream may have ahead of it.
  [[nodiscard]] std::uint64_t budget_left(const Stream& stream, Time now,
                                          const Limits& limits) const;

  std::uint64_t object_bytes_;
  std::array<Stream, kStreamsMax> streams_{};
  Stride stride_;
  std::uint64_t uses_ = 0;  // the clock of last_use
  bool has_asked_for_tail_ = false;
};

}  // namespace s3rdmafs::cache
