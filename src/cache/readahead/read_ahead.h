// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cache/readahead/active_streams.h"
#include "cache/readahead/byte_range.h"
#include "cache/readahead/stride.h"
#include "cache/readahead/transfer_model.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {

/// Decides what to fetch before it is asked for. One per object, shared by all its readers. A
/// *stream* is a reader that goes forward through a run of offsets; streams of many processes,
/// threads and shared descriptors are told apart by their offsets alone.
///
/// A reader gets no read-ahead until it has shown that it goes on. Then it gets a first window,
/// which doubles when the reader has to wait, and grows with the bytes that were read up to the
/// window that the pace of the transfers calls for. Requests are for whole, aligned parts, so that
/// each part is one request. A reader that starts again at equal distances is followed from slice
/// to slice (stride.h). A read at offset 0 counts as the start of a stream at once, since that is
/// how files are read. The first read at an object's end fetches the whole tail, where Parquet and
/// ZIP (npz, PyTorch) have their index.
///
/// Pure policy: it uses no memory and no network. Thread-bound: the object's lock guards it
/// (blocks/block.h).
class ReadAhead {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The state in which a read finds its bytes.
  enum class Found : std::uint8_t {
    kAll,
    kOnTheirWay,  ///< it waits for fills that other reads, or read-ahead, have asked for
    kMissing,     ///< it has to ask for some of its bytes itself
  };
  struct Read {
    ByteRange range;  ///< not empty, inside the object
    Found found = Found::kAll;
    Time now;
  };
  /// The bounds that memory allows at this moment.
  struct Limits {
    std::uint64_t window_max_bytes = 0;  ///< of one stream; 0 switches read-ahead off
    /// Of all streams of the object together. Where it is used up each stream may still have
    /// pace.first_bytes: a reader without any read-ahead would be slower than that memory is worth.
    std::uint64_t budget_bytes = 0;
    Pace pace;
  };

  /// The streams of one object, active ones and the ended runs that show a stride; a new one takes
  /// the place of the least recently active one. 32 is twice the loader processes of a node.
  static constexpr std::size_t kStreamsMax = 32;
  /// The largest distance of a read from where it is expected: kernels send the parts of one read
  /// out of order, and readers skip small gaps. Never more than the length of the run, so that
  /// scattered reads are not taken for steps.
  static constexpr std::uint64_t kSlackMaxBytes = 1 * kMiB;
  /// A reader that has stopped for so long starts again: the bytes that were fetched for it may
  /// have been evicted.
  static constexpr std::chrono::seconds kIdleAfter{2};
  /// The tail of an object: the first read in it fetches all of it. Indexes of some thousand
  /// entries fit, and a wrong guess costs as much as one at offset 0.
  static constexpr std::uint64_t kTailBytes = 1 * kMiB;
  /// A read that ends so near the object's end is a read of the tail: readers of Parquet ask for
  /// the last 8 bytes to 64 KiB.
  static constexpr std::uint64_t kTailReadBytes = 64 * kKiB;
  /// The first read of a program that reads in order through large buffers, or has the kernel read
  /// ahead for it: headers and indexes are asked for by smaller reads.
  static constexpr std::uint64_t kLargeReadBytes = 512 * kKiB;
  /// A stream needs a share from here on, or once its window is more than one part: the readers of
  /// small files do not hold back the others.
  static constexpr std::uint64_t kCountedFromBytes = 1 * kMiB;

  explicit ReadAhead(std::uint64_t object_bytes) : object_bytes_(object_bytes) {}

  /// Records one read, and returns what to fetch now besides the read itself.
  [[nodiscard]] ByteRanges on_read(const Read& read, const Limits& limits);

  /// Whether a read of this range would be a step of a stream. Ask before on_read().
  [[nodiscard]] bool expects(ByteRange range) const;

  /// The last read's stream, a number below kStreamsMax; also a read that goes nowhere has one.
  [[nodiscard]] std::size_t last_stream() const { return last_; }
  /// Whether the last read's stream needs a share of the memory and has not been counted in this
  /// period (active_streams.h). Then it has been from now on.
  [[nodiscard]] bool is_to_count(std::uint64_t period);
  /// The periods in which the last read's stream was counted, if that read has brought it to the
  /// object's end: it needs its share no longer. Once.
  [[nodiscard]] ActiveStreams::Counted take_ended();

 private:
  struct Stream {
    std::uint64_t begin = 0;         // of the run
    std::uint64_t next = 0;          // where the reader is expected
    std::uint64_t asked_to = 0;      // end of the bytes that were asked for
    std::uint64_t stop_at = 0;       // end of the slice, which is not read past; 0: no slice
    std::uint64_t window_bytes = 0;  // 0: not known to go on
    unsigned reads = 1;              // that moved `next` forward
    Time last_read;
    std::uint64_t last_use = 0;  // of uses_; 0: unused
    ActiveStreams::Counted counted;
  };

  [[nodiscard]] std::optional<std::size_t> find(ByteRange range) const;
  [[nodiscard]] static Stream stream_from(const Read& read);
  void begin_run(Stream& stream, const Read& read, const Limits& limits, ByteRanges& ranges);
  void advance(Stream& stream, const Read& read);
  static void size_window(Stream& stream, const Read& read, const Limits& limits);
  void ask_ahead(Stream& stream, const Read& read, const Limits& limits, ByteRanges& ranges);
  /// The bytes that a stream may have ahead of it.
  [[nodiscard]] std::uint64_t budget_left(const Stream& stream, Time now,
                                          const Limits& limits) const;

  std::uint64_t object_bytes_;
  std::array<Stream, kStreamsMax> streams_{};
  Stride stride_;
  std::uint64_t uses_ = 0;  // the clock of last_use
  std::size_t last_ = 0;    // of streams_: the last read's
  bool has_asked_for_tail_ = false;
};

}  // namespace s3rdmafs::cache
