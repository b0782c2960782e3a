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

/// A queue of copies of chunks that wait to be written, in memory of fixed size. The memory is
/// taken and touched at the start, since page faults would cost the copying thread more than the
/// copy. Thread-safe; one thread takes out.
class WriteRing {
 public:
  /// Borrows the clock, by which it waits. Errors: kNoMemory.
  [[nodiscard]] static Result<std::unique_ptr<WriteRing>> create(std::uint64_t size_bytes,
                                                                 const Clock& clock);
  ~WriteRing();
  WriteRing(const WriteRing&) = delete;
  WriteRing& operator=(const WriteRing&) = delete;

  /// Copies the bytes; false where there is no room, since no reader waits for the disk.
  [[nodiscard]] bool push(const ChunkId& chunk, ChunkRange range, std::span<const std::byte> bytes)
      EXCLUDES(mutex_);

  struct Item {
    ChunkId chunk;
    ChunkRange range;
    std::span<const std::byte> buffer;  ///< as ChunkStore::append takes it
  };
  /// The oldest item, which stays until pop(). Nothing if there is none by `deadline`, or after
  /// finish().
  [[nodiscard]] std::optional<Item> front(Deadline deadline) EXCLUDES(mutex_);
  void pop() EXCLUDES(mutex_);

  /// Waits until the queue is empty; false if the deadline passes first.
  [[nodiscard]] bool wait_until_empty(Deadline deadline) EXCLUDES(mutex_);
  /// Ends the queue: front() gives nothing any more, and push() is false.
  void finish() EXCLUDES(mutex_);
  [[nodiscard]] bool is_finished() EXCLUDES(mutex_);

 private:
  struct Entry {
    Item item;
    std::size_t at = 0;
    bool is_copied = false;
  };

  WriteRing(std::span<std::byte> memory, const Clock& clock) : memory_(memory), clock_(clock) {}
  /// Room for `length` bytes in one piece.
  [[nodiscard]] std::optional<std::size_t> room(std::size_t length) REQUIRES(mutex_);

  const std::span<std::byte> memory_;
  const Clock& clock_;
  Mutex mutex_;  // leaf
  CondVar changed_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);
  std::size_t head_ GUARDED_BY(mutex_) = 0;  // where the next one goes
  bool finished_ GUARDED_BY(mutex_) = false;
};

}  // namespace s3rdmafs::disk
