// SPDX-License-Identifier: Apache-2.0
#include "disk/write_ring.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::disk {

Result<std::unique_ptr<WriteRing>> WriteRing::create(std::uint64_t size_bytes, const Clock& clock) {
  void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::kNoMemory,
                "no memory for the disk cache's write buffer of " + format_size(size_bytes));
  }
  return std::unique_ptr<WriteRing>(
      new WriteRing(std::span(static_cast<std::byte*>(memory), size_bytes), clock));
}

WriteRing::~WriteRing() { ::munmap(memory_.data(), memory_.size()); }

// Used memory runs from the oldest entry to head_, once around the end at most. The two are equal
// when all of it is used or none.
std::optional<std::size_t> WriteRing::room(std::size_t length) {
  if (entries_.empty()) head_ = 0;
  const std::size_t tail = entries_.empty() ? 0 : entries_.front().at;
  if (entries_.empty() || head_ > tail) {
    if (memory_.size() - head_ >= length) return head_;
    if (!entries_.empty() && tail >= length) return 0;
    return std::nullopt;
  }
  if (tail - head_ >= length) return head_;
  return std::nullopt;
}

bool WriteRing::push(const ChunkId& chunk, ChunkRange range, std::span<const std::byte> bytes) {
  const std::size_t length = round_up(bytes.size(), kDiskBlockBytes);
  Entry* entry = nullptr;
  std::span<std::byte> buffer;
  {
    const MutexLock lock(mutex_);
    if (finished_) return false;
    const auto at = room(length);
    if (!at) return false;
    buffer = memory_.subspan(*at, length);
    head_ = *at + length;
    // Its address stays while others come and go at the ends; it cannot go before it is copied.
    entry = &entries_.emplace_back(
        Entry{.item = {.chunk = chunk, .range = range, .buffer = buffer}, .at = *at});
  }
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  std::memset(buffer.data() + bytes.size(), 0, length - bytes.size());
  {
    const MutexLock lock(mutex_);
    entry->is_copied = true;
  }
  changed_.notify_all();
  return true;
}

std::optional<WriteRing::Item> WriteRing::front(Deadline deadline) {
  const MutexLock lock(mutex_);
  for (;;) {
    if (finished_) return std::nullopt;
    if (!entries_.empty() && entries_.front().is_copied) return entries_.front().item;
    if (!clock_.wait_until(changed_, mutex_, deadline)) return std::nullopt;
  }
}

void WriteRing::pop() {
  {
    const MutexLock lock(mutex_);
    entries_.pop_front();
  }
  changed_.notify_all();
}

bool WriteRing::wait_until_empty(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (!entries_.empty()) {
    if (!clock_.wait_until(changed_, mutex_, deadline)) return entries_.empty();
  }
  return true;
}

void WriteRing::finish() {
  {
    const MutexLock lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
}

bool WriteRing::is_finished() {
  const MutexLock lock(mutex_);
  return finished_;
}

}  // namespace s3rdmafs::disk
