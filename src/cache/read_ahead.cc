// SPDX-License-Identifier: Apache-2.0
#include "cache/read_ahead.h"

#include <algorithm>

namespace s3rdmafs::cache {

ByteRange ReadAhead::on_read(std::uint64_t offset_bytes, std::uint64_t length_bytes, bool stalled,
                             std::uint64_t window_max_bytes) {
  const std::uint64_t end = offset_bytes + length_bytes;

  auto* stream = const_cast<Stream*>(find(offset_bytes));
  if (stream == nullptr) {
    stream = &begin_stream(offset_bytes);
    if (offset_bytes == 0) stream->window_bytes = kWindowFirstBytes;
  } else if (stream->window_bytes == 0) {
    stream->window_bytes = kWindowFirstBytes;
  } else if (stalled) {
    stream->window_bytes *= 2;
  }
  stream->window_bytes = std::min(stream->window_bytes, window_max_bytes);
  stream->last_read = ++reads_;
  stream->next = std::max(stream->next, end);
  stream->fetched_to = std::max(stream->fetched_to, end);

  if (stream->fetched_to - stream->next >= stream->window_bytes / 2) return {};
  const std::uint64_t wanted = std::min(stream->next + stream->window_bytes, object_bytes_);
  const ByteRange range{.begin = stream->fetched_to, .end = std::max(wanted, stream->fetched_to)};
  stream->fetched_to = range.end;
  return range;
}

bool ReadAhead::expects(std::uint64_t offset_bytes) const {
  return offset_bytes == 0 || find(offset_bytes) != nullptr;
}

const ReadAhead::Stream* ReadAhead::find(std::uint64_t offset_bytes) const {
  const Stream* nearest = nullptr;
  std::uint64_t nearest_distance = kSlackBytes + 1;
  for (const Stream& stream : streams_) {
    if (stream.last_read == 0) continue;
    const std::uint64_t distance =
        stream.next > offset_bytes ? stream.next - offset_bytes : offset_bytes - stream.next;
    if (distance >= nearest_distance) continue;
    nearest = &stream;
    nearest_distance = distance;
  }
  return nearest;
}

ReadAhead::Stream& ReadAhead::begin_stream(std::uint64_t offset_bytes) {
  Stream& oldest = *std::ranges::min_element(streams_, {}, &Stream::last_read);
  oldest = Stream{.next = offset_bytes, .fetched_to = offset_bytes};
  return oldest;
}

}  // namespace s3rdmafs::cache
