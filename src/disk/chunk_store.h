// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "disk/cache_folder.h"
#include "disk/chunk_index.h"
#include "disk/segment_file.h"
#include "disk/verified_read.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::disk {

/// Chunks in a folder: a log of segments of equal size, and an index of it in memory. Whole
/// segments are evicted. Thread-safe, but for append() and keep_limits(), which one thread calls.
class ChunkStore {
 public:
  struct Options {
    std::uint64_t size_bytes = 0;     ///< of all files together, never exceeded
    std::uint64_t reserve_bytes = 0;  ///< stays free on the file system, as far as we can make it
    std::uint64_t segment_bytes = 0;  ///< a multiple of kDiskBlockBytes
  };
  /// 256 segments: one eviction costs 0.4 % of the cache, and the files stay few. At least 8
  /// MiB, so that a segment has room for any chunk.
  [[nodiscard]] static std::uint64_t segment_bytes_for(std::uint64_t size_bytes) noexcept;

  /// Finds the chunks of an earlier process: reads the segments' index files, none of their data.
  /// Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<ChunkStore>> open(CacheFolder folder, Options options,
                                                                metrics::Registry& metrics);

  /// The pieces that [offset, offset + length) of the object consists of, in order; nothing where a
  /// byte of it is missing. Segments with pieces are not evicted.
  [[nodiscard]] std::optional<std::vector<Piece>> find(const ObjectId& object,
                                                       std::uint64_t offset_bytes,
                                                       std::uint64_t length_bytes) EXCLUDES(mutex_);
  /// Never finds this piece's extent again.
  void drop(const Piece& piece) EXCLUDES(mutex_);

  /// Writes bytes of a chunk, and makes room for them. Blocks on the disk.
  ///
  /// @param range   begins at a unit
  /// @param buffer  the range's bytes, padded to a whole disk block; aligned to one
  /// Errors: kBusy (the segments that could make room are being read, or are too few), kTooLarge
  /// (for a segment), kNoMemory (nothing is there that could make room), kNotFound (the folder is
  /// gone), kSystem. After a failed write the next one goes to another segment.
  [[nodiscard]] Result<void> append(const ChunkId& chunk, ChunkRange range,
                                    std::span<const std::byte> buffer) EXCLUDES(mutex_);

  /// Evicts until size_bytes and reserve_bytes are kept, as far as that is possible: others use the
  /// file system too.
  void keep_limits() EXCLUDES(mutex_);

 private:
  struct Segment {
    std::shared_ptr<SegmentFile> file;
    std::vector<ChunkId> chunks = {};           // of its extents
    std::vector<std::uint64_t> checksums = {};  // of its extents' units
    std::uint64_t end = 0;                      // where the next chunk goes
    std::uint64_t index_end = 0;                // where the next record goes
    bool was_read = false;                      // since the last round of evictions
  };
  using Segments = std::map<std::uint32_t, Segment>;  // by number, which tells their age

  ChunkStore(CacheFolder folder, Options options, metrics::Registry& metrics);

  Result<void> load();
  Result<void> load_segment(std::uint32_t number);
  void add_record(Segment& segment, std::uint32_t number, const IndexRecord& record)
      REQUIRES(mutex_);
  [[nodiscard]] Result<void> append_once(const ChunkId& chunk, ChunkRange range,
                                         std::span<const std::byte> buffer) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::uint32_t> segment_with_room(ChunkRange range) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::uint32_t> add_segment() EXCLUDES(mutex_);
  /// Evicts one segment. False where all are in use, or none is there.
  [[nodiscard]] bool evict_one() EXCLUDES(mutex_);
  [[nodiscard]] Segments::iterator victim() REQUIRES(mutex_);
  /// Whether `more` bytes may be taken without an eviction.
  [[nodiscard]] bool has_room_for(std::uint64_t more_bytes) EXCLUDES(mutex_);
  void charge(std::uint64_t segment_bytes, int sign) REQUIRES(mutex_);

  const CacheFolder folder_;
  const Options options_;
  metrics::Counter& evictions_;
  metrics::Gauge& size_;

  Mutex mutex_;  // leaf; never held while the disk is waited for
  Segments segments_ GUARDED_BY(mutex_);
  ChunkIndex index_ GUARDED_BY(mutex_);
  std::uint64_t charged_bytes_ GUARDED_BY(mutex_) = 0;
  std::optional<std::uint32_t> filling_ GUARDED_BY(mutex_);  // the segment that takes chunks
  std::uint32_t next_number_ GUARDED_BY(mutex_) = 0;
  std::minstd_rand random_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::disk
