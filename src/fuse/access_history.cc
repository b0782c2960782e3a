// SPDX-License-Identifier: Apache-2.0
// A table like a processor's branch predictor: a version's slot is its inode's number, which is a
// hash. A version that is opened later takes the slot over, so no list has to be kept in order
// while files are read. Two versions that share a slot lose each other's history and are opened as
// if they had never been seen.
//
// Counts cover the last openings; each is worth half of the one after it. If threads count while a
// slot changes hands, the guess loses some reads, so nothing here is ordered.
//
// Nothing is learned while a version is open through the page cache: the kernel's own read-ahead
// then decides what is asked for.
#include "fuse/access_history.h"

namespace s3rdmafs::fuse {
namespace {

constexpr auto kUnordered = std::memory_order_relaxed;

void halve(std::atomic<std::uint64_t>& count) {
  count.store(count.load(kUnordered) / 2, kUnordered);
}

}  // namespace

AccessHistory::AccessHistory() : versions_(new Version[kVersionsMax]) {}

bool AccessHistory::wants_page_cache(vfs::Ino ino) {
  Version& version = version_of(ino);
  if (version.ino.load(kUnordered) != ino) {
    version.openings_left.store(0, kUnordered);
    version.large_bytes.store(0, kUnordered);
    version.small_bytes.store(0, kUnordered);
    version.ino.store(ino, kUnordered);
    return false;
  }
  if (const unsigned left = version.openings_left.load(kUnordered); left > 0) {
    version.openings_left.store(left - 1, kUnordered);
    if (left > 1) return true;
    version.large_bytes.store(0, kUnordered);
    version.small_bytes.store(0, kUnordered);
    return false;
  }
  const std::uint64_t small_bytes = version.small_bytes.load(kUnordered);
  const bool is_small =
      small_bytes >= kEvidenceBytes && small_bytes > version.large_bytes.load(kUnordered);
  if (is_small) version.openings_left.store(kOpeningsTrusted, kUnordered);
  halve(version.large_bytes);
  halve(version.small_bytes);
  return is_small;
}

void AccessHistory::on_read(vfs::Ino ino, Read read) noexcept {
  Version& version = version_of(ino);
  if (version.ino.load(kUnordered) != ino || version.openings_left.load(kUnordered) > 0) return;
  const bool is_small = read.fills_page_cache || read.bytes <= kSmallReadBytes;
  (is_small ? version.small_bytes : version.large_bytes).fetch_add(read.bytes, kUnordered);
}

}  // namespace s3rdmafs::fuse
