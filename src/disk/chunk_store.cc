// SPDX-License-Identifier: Apache-2.0
// A log of chunks on a file system.
//
// Why a log. Objects are of all sizes and runs of them are read at random, so a file each would be
// millions of files: slow to make, slow to find again. Here a chunk is one write after the last
// one, a segment goes by removing two files, and a start reads 256 small index files.
//
// Eviction. A random segment among those that were not read since the last round goes; when all
// have been read, a new round begins. So data that is read again outlives data that streams by, and
// a data set a little larger than the disk, read in a circle, keeps most of its hits where "the
// oldest first" would have none at all. A segment that is being read from is left alone, so that
// its room is free at once.
//
// Budget. A segment is charged with all that its two files may ever take, before they are made.
//
// Memory. 0.2 MiB for each GiB of large objects, 4 MiB at most where all are of 64 KiB or less (a
// segment is full when its index is, with a record for each 64 KiB).
#include "disk/chunk_store.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::disk {
namespace {

std::uint64_t charge_of(std::uint64_t segment_bytes) {
  return segment_bytes + SegmentFile::index_bytes_max(segment_bytes);
}

}  // namespace

std::uint64_t ChunkStore::segment_bytes_for(std::uint64_t size_bytes) noexcept {
  return std::max(8 * kMiB, round_down(size_bytes / 256, kMiB));
}

ChunkStore::ChunkStore(CacheFolder folder, Options options, metrics::Registry& metrics)
    : folder_(std::move(folder)),
      options_(options),
      evictions_(metrics.counter("disk_evictions_total", "Segments of the disk cache evicted")),
      size_(metrics.gauge("disk_size_bytes", "Size of the disk cache's files")) {}

Result<std::unique_ptr<ChunkStore>> ChunkStore::open(CacheFolder folder, Options options,
                                                     metrics::Registry& metrics) {
  std::unique_ptr<ChunkStore> store(new ChunkStore(std::move(folder), options, metrics));
  if (auto loaded = store->load(); !loaded) return std::unexpected(loaded.error());
  store->keep_limits();
  return store;
}

Result<void> ChunkStore::load() {
  const auto names = folder_.names();
  if (!names) return std::unexpected(names.error());
  std::set<std::uint32_t> numbers;
  for (const std::string& name : *names) {
    if (const auto number = SegmentFile::number_in(name)) numbers.insert(*number);
  }
  for (const std::uint32_t number : numbers) {
    const auto loaded = load_segment(number);
    if (loaded) continue;
    const Error& error = loaded.error();
    if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNotFound) {
      log::warn("disk: segment {} is dropped: {}", number, error.detail);
      SegmentFile::remove(folder_.fd(), number);
    } else {
      log::warn("disk: segment {} is left alone until the next mount: {}", number, error.detail);
      const MutexLock lock(mutex_);
      charge(options_.segment_bytes, +1);  // a part of the size all the same
    }
  }
  const MutexLock lock(mutex_);
  next_number_ = numbers.empty() ? 0 : *numbers.rbegin() + 1;
  // The youngest is filled on, or each restart would leave a part of one unused.
  if (!segments_.empty()) {
    const auto& [number, youngest] = *segments_.rbegin();
    if (youngest.file->size_bytes() == options_.segment_bytes) filling_ = number;
  }
  return {};
}

Result<void> ChunkStore::load_segment(std::uint32_t number) {
  auto file = SegmentFile::open(folder_.fd(), number);
  if (!file) return std::unexpected(file.error());
  const auto records = (*file)->read_index();
  if (!records) return std::unexpected(records.error());
  std::uint64_t index_end = 0;
  for (const IndexRecord& record : *records) index_end += encoded_bytes(record.range.length());
  if (auto cut = (*file)->cut_index(index_end); !cut) return cut;
  Segment segment{.file = std::move(*file)};
  const MutexLock lock(mutex_);
  for (const IndexRecord& record : *records) add_record(segment, number, record);
  charge(segment.file->size_bytes(), +1);
  segments_.emplace(number, std::move(segment));
  return {};
}

void ChunkStore::add_record(Segment& segment, std::uint32_t number, const IndexRecord& record) {
  index_.add(record.chunk, {.range = record.range,
                            .segment = number,
                            .first_checksum = static_cast<std::uint32_t>(segment.checksums.size()),
                            .position_bytes = record.position_bytes});
  segment.chunks.push_back(record.chunk);
  segment.checksums.insert(segment.checksums.end(), record.checksums.begin(),
                           record.checksums.end());
  segment.end = record.position_bytes + round_up(record.range.length(), kDiskBlockBytes);
  segment.index_end += encoded_bytes(record.range.length());
}

void ChunkStore::charge(std::uint64_t segment_bytes, int sign) {
  const std::uint64_t bytes = charge_of(segment_bytes);
  charged_bytes_ = sign > 0 ? charged_bytes_ + bytes : charged_bytes_ - bytes;
  size_.set(static_cast<std::int64_t>(charged_bytes_));
}

std::optional<std::vector<Piece>> ChunkStore::find(const ObjectId& object,
                                                   std::uint64_t offset_bytes,
                                                   std::uint64_t length_bytes) {
  std::vector<Piece> pieces;
  const MutexLock lock(mutex_);
  for (const ChunkPart& part : chunk_parts(object, offset_bytes, length_bytes)) {
    const auto extents = index_.find(part.chunk, part.range);
    if (!extents) return std::nullopt;
    std::uint32_t at = part.range.begin;
    for (const Extent& extent : *extents) {
      Segment& segment = segments_.at(extent.segment);
      segment.was_read = true;
      const auto first = segment.checksums.begin() + extent.first_checksum;
      const auto units = static_cast<std::ptrdiff_t>(unit_count(extent.range.length()));
      const std::uint32_t end = std::min(part.range.end, extent.range.end);
      pieces.push_back({.segment = segment.file,
                        .chunk = part.chunk,
                        .extent = extent,
                        .checksums = {first, first + units},
                        .range = {.begin = at, .end = end}});
      at = end;
    }
  }
  return pieces;
}

void ChunkStore::drop(const Piece& piece) {
  const MutexLock lock(mutex_);
  index_.remove(piece.chunk, piece.extent);
}

Result<void> ChunkStore::append(const ChunkId& chunk, ChunkRange range,
                                std::span<const std::byte> buffer) {
  auto appended = append_once(chunk, range, buffer);
  const auto has_no_room = [&] {
    return !appended && appended.error().code == ErrorCode::kNoMemory;
  };
  // Only this call meets a quota, and bytes that others write meanwhile: free_bytes() has neither.
  if (!has_no_room() || !evict_one()) return appended;
  appended = append_once(chunk, range, buffer);
  if (has_no_room()) return fail(ErrorCode::kBusy, appended.error().detail);
  return appended;
}

Result<void> ChunkStore::append_once(const ChunkId& chunk, ChunkRange range,
                                     std::span<const std::byte> buffer) {
  const auto number = segment_with_room(range);
  if (!number) return std::unexpected(number.error());
  std::shared_ptr<SegmentFile> file;
  IndexRecord record{.chunk = chunk,
                     .range = range,
                     .position_bytes = 0,
                     .checksums = unit_checksums(buffer.first(range.length()))};
  std::uint64_t index_end = 0;
  {
    const MutexLock lock(mutex_);
    const Segment& segment = segments_.at(*number);
    file = segment.file;
    record.position_bytes = segment.end;
    index_end = segment.index_end;
  }
  // The record last: a start that finds it finds the bytes.
  auto written = file->write(record.position_bytes, buffer);
  if (written) written = file->write_index(index_end, encode(record));
  const MutexLock lock(mutex_);
  if (!written) {
    filling_.reset();  // the same place would fail again
    return written;
  }
  add_record(segments_.at(*number), *number, record);
  return {};
}

Result<std::uint32_t> ChunkStore::segment_with_room(ChunkRange range) {
  const std::uint64_t bytes = round_up(range.length(), kDiskBlockBytes);
  const std::uint64_t record_bytes = encoded_bytes(range.length());
  const std::uint64_t record_bytes_max = SegmentFile::index_bytes_max(options_.segment_bytes);
  if (bytes > options_.segment_bytes || record_bytes > record_bytes_max) {
    return fail(ErrorCode::kTooLarge, "the disk cache's segments are too small for that");
  }
  {
    const MutexLock lock(mutex_);
    if (filling_) {
      const Segment& segment = segments_.at(*filling_);
      if (segment.end + bytes <= options_.segment_bytes &&
          segment.index_end + record_bytes <= record_bytes_max) {
        return *filling_;
      }
    }
  }
  return add_segment();
}

Result<std::uint32_t> ChunkStore::add_segment() {
  while (!has_room_for(charge_of(options_.segment_bytes))) {
    if (evict_one()) continue;
    const MutexLock lock(mutex_);
    if (!segments_.empty()) return fail(ErrorCode::kBusy, "all of the disk cache is being read");
    return fail(ErrorCode::kNoMemory,
                "disk.reserve leaves no room on the disk cache's file system");
  }
  std::uint32_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = next_number_++;
  }
  auto file = SegmentFile::create(folder_.fd(), number, options_.segment_bytes);
  if (!file) return std::unexpected(file.error());
  const MutexLock lock(mutex_);
  charge((*file)->size_bytes(), +1);
  segments_.emplace(number, Segment{.file = std::move(*file)});
  filling_ = number;
  return number;
}

bool ChunkStore::has_room_for(std::uint64_t more_bytes) {
  {
    const MutexLock lock(mutex_);
    if (charged_bytes_ + more_bytes > options_.size_bytes) return false;
  }
  const auto free_bytes = folder_.free_bytes();
  return !free_bytes || *free_bytes >= options_.reserve_bytes + more_bytes;
}

void ChunkStore::keep_limits() {
  while (!has_room_for(0) && evict_one()) {
  }
}

bool ChunkStore::evict_one() {
  Segments::node_type evicted;
  {
    const MutexLock lock(mutex_);
    const auto chosen = victim();
    if (chosen == segments_.end()) return false;
    if (filling_ == chosen->first) filling_.reset();
    index_.remove_segment(chosen->first, chosen->second.chunks);
    charge(chosen->second.file->size_bytes(), -1);
    evicted = segments_.extract(chosen);
  }
  evictions_.add();
  // Closed here, when no reader has it any more: its room is free when this returns.
  SegmentFile::remove(folder_.fd(), evicted.key());
  return true;
}

// Readers take their share of a file under the lock alone, so a count of one cannot grow meanwhile.
ChunkStore::Segments::iterator ChunkStore::victim() {
  std::vector<Segments::iterator> unread;
  std::vector<Segments::iterator> unused;
  for (auto at = segments_.begin(); at != segments_.end(); ++at) {
    if (at->second.file.use_count() > 1) continue;
    if (filling_ == at->first && segments_.size() > 1) continue;  // it has just been begun
    unused.push_back(at);
    if (!at->second.was_read) unread.push_back(at);
  }
  if (unused.empty()) return segments_.end();
  if (unread.empty()) {
    for (auto& [number, segment] : segments_) segment.was_read = false;
    unread = std::move(unused);
  }
  std::uniform_int_distribution<std::size_t> any(0, unread.size() - 1);
  return unread.at(any(random_));
}

}  // namespace s3rdmafs::disk
