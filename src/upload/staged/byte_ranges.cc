// SPDX-License-Identifier: Apache-2.0
#include "upload/staged/byte_ranges.h"

#include <algorithm>
#include <iterator>

namespace s3rdmafs::upload {

void ByteRanges::add(ByteRange range) {
  if (range.empty()) return;
  // The first range that ends at or after its begin: it touches or overlaps, or comes later.
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ranges_.end() && at->first <= range.end) {
    range = {.begin = std::min(range.begin, at->first), .end = std::max(range.end, at->second)};
    bytes_ -= at->second - at->first;
    at = ranges_.erase(at);
  }
  ranges_.emplace_hint(at, range.begin, range.end);
  bytes_ += range.size();
}

void ByteRanges::add(const ByteRanges& others) {
  for (const auto& [begin, end] : others.ranges_) add({begin, end});
}

void ByteRanges::subtract(ByteRange range) {
  if (range.empty()) return;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second > range.begin) --at;
  while (at != ranges_.end() && at->first < range.end) {
    const ByteRange old{at->first, at->second};
    bytes_ -= old.size();
    at = ranges_.erase(at);
    for (const ByteRange rest :
         {ByteRange{old.begin, range.begin}, ByteRange{range.end, old.end}}) {
      if (rest.empty()) continue;
      ranges_.emplace_hint(at, rest.begin, rest.end);
      bytes_ += rest.size();
    }
  }
}

void ByteRanges::subtract(const ByteRanges& others) {
  for (const auto& [begin, end] : others.ranges_) subtract({begin, end});
}

std::uint64_t ByteRanges::end() const noexcept {
  return ranges_.empty() ? 0 : ranges_.rbegin()->second;
}

bool ByteRanges::contains(ByteRange range) const {
  if (range.empty()) return true;
  const auto after = ranges_.upper_bound(range.begin);
  return after != ranges_.begin() && std::prev(after)->second >= range.end;
}

bool ByteRanges::intersects(ByteRange range) const { return !intersect(range).empty(); }

ByteRanges ByteRanges::intersect(ByteRange within) const {
  ByteRanges found;
  auto at = ranges_.upper_bound(within.begin);
  if (at != ranges_.begin()) --at;
  for (; at != ranges_.end() && at->first < within.end; ++at) {
    found.add({std::max(at->first, within.begin), std::min(at->second, within.end)});
  }
  return found;
}

ByteRanges ByteRanges::complement(ByteRange within) const {
  ByteRanges missing;
  missing.add(within);
  for (const ByteRange& range : intersect(within).list()) missing.subtract(range);
  return missing;
}

ByteRanges ByteRanges::widened(std::uint64_t step) const {
  ByteRanges wide;
  for (const auto& [begin, end] : ranges_) {
    wide.add({begin / step * step, (end + step - 1) / step * step});
  }
  return wide;
}

std::vector<ByteRange> ByteRanges::list() const {
  std::vector<ByteRange> listed;
  listed.reserve(ranges_.size());
  for (const auto& [begin, end] : ranges_) listed.push_back({begin, end});
  return listed;
}

}  // namespace s3rdmafs::upload
