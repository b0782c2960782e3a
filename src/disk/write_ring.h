// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "disk/chunk.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::disk {

/// Copies of chunks that wait to be written: a queue over memory of fixed size, taken and touched
/// at once, since page faults would cost the copying thread more than the copy. Thread-safe; one
/// thread takes out.
class WriteRing {
 public:
  /// Errors: kNoMemory.
  [[nodiscard]] static Result<std::unique_ptr<WriteRing>> create(std::uint64_t size_bytes);
  ~WriteRing();
  WriteRing(const WriteRing&) = delete;
  WriteRing& operator=(const WriteRing&) = delete;

  /// Copies the bytes, or says false where there is no room: nobody waits for the disk.
  [[nodiscard]] bool push(const ChunkId& chunk, ChunkRange range, std::span<const std::byte> bytes)
      EXCLUDES(mutex_);

  struct Item {
    ChunkId chunk;
    ChunkRange range;
    std::span<const std::byte> buffer;  ///< what ChunkStore::append wants
  };
  /// The oldest item, which stays until pop(). Nothing if there is none by `deadline`, or after
  /// finish().
  [[nodiscard]] std::optional<Item> front(Deadline deadline) EXCLUDES(mutex_);
  void pop() EXCLUDES(mutex_);

  /// Waits until nothing is left. False where that takes longer.
  [[nodiscard]] bool wait_until_empty(Deadline deadline) EXCLUDES(mutex_);
  /// What is left is not given out, and later pushes say false.
  void finish() EXCLUDES(mutex_);
  [[nodiscard]] bool is_finished() EXCLUDES(mutex_);

 private:
  struct Entry {
    Item item;
    std::size_t at = 0;
    bool is_copied = false;
  };

  explicit WriteRing(std::span<std::byte> memory) : memory_(memory) {}
  /// Room for `length` bytes in one piece.
  [[nodiscard]] std::optional<std::size_t> room(std::size_t length) REQUIRES(mutex_);

  const std::span<std::byte> memory_;
  Mutex mutex_;  // leaf
  CondVar changed_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);
  std::size_t head_ GUARDED_BY(mutex_) = 0;  // where the next one goes
  bool finished_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::disk
