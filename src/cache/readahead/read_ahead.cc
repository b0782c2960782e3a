// SPDX-License-Identifier: Apache-2.0
// What proves a stream, and what a mistake costs. A random read of 4 KiB must cost one unit of 64
// KiB, so a second read somewhere near proves nothing: it has to follow as closely as the reads are
// long, and so does a third one if both are smaller than a unit (those cost nothing more). From
// then on the window is as long as the bytes that the stream has read, up to the pace's window, and
// longer only if the stream stalls. So a mistake costs about as much as was read correctly before
// it. Where the server is far, one stall brings the pace's window at once: the next would cost the
// program another round trip. There a large read at offset 0 brings half of that window: such reads
// are seldom of a header, and every answer is one that the program waits for.
//
// Cost. A read looks at each stream once (some 30 ns). Only a read that asks for more adds up the
// unread bytes.
#include "cache/readahead/read_ahead.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "cache/blocks/unit_mask.h"

namespace s3rdmafs::cache {

ByteRanges ReadAhead::on_read(const Read& read, const Limits& limits) {
  ByteRanges ranges;
  const auto found = find(read.range);
  Stream* stream =
      found ? &streams_.at(*found) : std::ranges::min_element(streams_, {}, &Stream::last_use);
  if (!found) {
    *stream = stream_from(read);
    if (limits.window_max_bytes > 0) begin_run(*stream, read, limits, ranges);
  } else if (read.now - stream->last_read >= kIdleAfter) {
    *stream = stream_from(read);
    stream->window_bytes = limits.pace.first_bytes;
  }
  last_ = static_cast<std::size_t>(stream - streams_.data());
  advance(*stream, read);
  size_window(*stream, read, limits);
  ask_ahead(*stream, read, limits, ranges);
  if (limits.window_max_bytes == 0) return {};
  return ranges;
}

ActiveStreams::Counted ReadAhead::take_ended() {
  Stream& stream = streams_.at(last_);
  if (stream.next < object_bytes_) return {};
  return std::exchange(stream.counted, {});
}

bool ReadAhead::is_to_count(std::uint64_t period) {
  Stream& stream = streams_.at(last_);
  const bool is_large = stream.next - stream.begin > kCountedFromBytes ||
                        stream.window_bytes > TransferModel::kPartBytesMax;
  const bool needs_a_share = stream.window_bytes > 0 && stream.next < object_bytes_ && is_large;
  if (!needs_a_share || stream.counted.period == period) return false;
  stream.counted = {.period = period, .was_before = stream.counted.period == period - 1};
  return true;
}

bool ReadAhead::expects(ByteRange range) const {
  if (range.begin == 0) return true;
  const auto found = find(range);
  if (!found) return false;
  const Stream& stream = streams_.at(*found);
  return stream.reads > 1 || range.begin > stream.begin;
}

// The nearest stream. A reader that goes back a little is still in its run; a read before the run's
// beginning is not.
std::optional<std::size_t> ReadAhead::find(ByteRange range) const {
  std::optional<std::size_t> nearest;
  std::uint64_t nearest_distance = kSlackMaxBytes + 1;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_.at(i);
    if (stream.last_use == 0 || range.begin < stream.begin) continue;
    const std::uint64_t distance = range.begin > stream.next ? range.begin - stream.next
                                   : range.end < stream.next ? stream.next - range.end
                                                             : 0;
    const std::uint64_t slack = std::max(range.size(), stream.next - stream.begin);
    if (distance >= nearest_distance || distance > slack) continue;
    nearest = i;
    nearest_distance = distance;
  }
  return nearest;
}

ReadAhead::Stream ReadAhead::stream_from(const Read& read) {
  Stream stream;
  stream.begin = stream.next = stream.asked_to = read.range.begin;
  return stream;
}

void ReadAhead::begin_run(Stream& stream, const Read& read, const Limits& limits,
                          ByteRanges& ranges) {
  const bool stalled = read.found != Found::kAll;
  std::array<ByteRange, kStreamsMax> runs;
  std::ranges::transform(streams_, runs.begin(), [](const Stream& other) {
    return ByteRange{.begin = other.begin, .end = other.next};
  });
  const std::uint64_t window = std::min(limits.window_max_bytes, limits.pace.window_bytes);
  const Stride::Plan plan = stride_.on_run(read.range.begin, runs, stalled, window);
  const auto add = [&](ByteRange range) {
    ranges.add({.begin = range.begin, .end = std::min(range.end, object_bytes_)});
  };
  if (!plan.slice.empty()) {
    stream.stop_at = std::min(plan.slice.end, object_bytes_);
    stream.asked_to = stream.stop_at;
    if (stalled) add({.begin = read.range.end, .end = plan.slice.end});
    for (const ByteRange& slice : plan.next) add(slice);
  }
  const bool is_tail = read.range.begin > 0 && read.range.end + kTailReadBytes > object_bytes_;
  if (is_tail && stalled && !std::exchange(has_asked_for_tail_, true)) {
    add({.begin = object_bytes_ - std::min(object_bytes_, kTailBytes), .end = object_bytes_});
  }
}

void ReadAhead::advance(Stream& stream, const Read& read) {
  if (read.range.begin > stream.begin && read.range.end > stream.next) ++stream.reads;
  stream.next = std::max(stream.next, read.range.end);
  stream.asked_to = std::max(stream.asked_to, stream.next);
  // There was no memory, or fetched bytes were evicted, or the rest of a slice was never asked for.
  // The first read of a slice does not show that: the rest has only just been asked for.
  const bool is_lost = read.found == Found::kMissing && (stream.reads > 1 || stream.stop_at == 0);
  if (is_lost) stream.asked_to = stream.next;
  if (is_lost || stream.next > stream.stop_at) stream.stop_at = 0;
  stream.last_read = read.now;
  stream.last_use = ++uses_;
}

void ReadAhead::size_window(Stream& stream, const Read& read, const Limits& limits) {
  const std::uint64_t length = stream.next - stream.begin;
  if (stream.window_bytes == 0) {
    const bool goes_on =
        read.range.begin == 0 || stream.reads > 2 || (stream.reads == 2 && length >= kUnitBytes);
    const bool is_worth_a_wait =
        limits.pace.is_far && read.range.begin == 0 && read.range.size() >= kLargeReadBytes;
    if (goes_on) {
      stream.window_bytes = limits.pace.first_bytes;
      if (is_worth_a_wait) {
        stream.window_bytes = std::max(stream.window_bytes, limits.pace.window_bytes / 2);
      }
    }
  } else {
    const bool stalled = read.found != Found::kAll && stream.reads > 1;
    if (stalled) {
      stream.window_bytes *= 2;
      const std::uint64_t at_once = limits.pace.is_far ? limits.pace.window_bytes : 0;
      stream.window_bytes = std::max(stream.window_bytes, at_once);
    }
    stream.window_bytes = std::max(stream.window_bytes, std::min(length, limits.pace.window_bytes));
  }
  stream.window_bytes =
      std::min({stream.window_bytes, limits.window_max_bytes, limits.pace.useful_bytes});
}

void ReadAhead::ask_ahead(Stream& stream, const Read& read, const Limits& limits,
                          ByteRanges& ranges) {
  if (stream.window_bytes == 0 || stream.stop_at != 0) return;
  // Whole parts, each at most half of the window, so that the reader has the other half while one
  // is fetched.
  const auto end_of_parts = [&](std::uint64_t window) {
    const std::uint64_t part = std::min(limits.pace.part_bytes, std::bit_floor(window / 2));
    const std::uint64_t end = stream.next + window;
    return end >= object_bytes_ ? object_bytes_ : end - end % std::max(part, kUnitBytes);
  };
  std::uint64_t end = end_of_parts(stream.window_bytes);
  if (end <= stream.asked_to) return;
  const std::uint64_t left = budget_left(stream, read.now, limits);
  end = end_of_parts(std::min(stream.window_bytes, left));
  if (end <= stream.asked_to) return;
  ranges.add({.begin = stream.asked_to, .end = end});
  stream.asked_to = end;
}

std::uint64_t ReadAhead::budget_left(const Stream& stream, Time now, const Limits& limits) const {
  std::uint64_t unread = 0;
  for (const Stream& other : streams_) {
    const bool is_active = &other != &stream && now - other.last_read < kIdleAfter;
    if (is_active) unread += other.asked_to - other.next;
  }
  const std::uint64_t left = limits.budget_bytes - std::min(limits.budget_bytes, unread);
  return std::max(left, limits.pace.first_bytes);
}

}  // namespace s3rdmafs::cache
