// SPDX-License-Identifier: Apache-2.0
// An entry is made for a descriptor number at its first file, and never freed, so that a reader can
// look at it without a lock. Its word counts the readers, and has a bit while the number is of a
// file: a close takes the bit away, waits for the readers that are left, and then lets go of the
// file. A child of fork(2) may have counted readers that exist in its parent alone: the wait has a
// bound, after which the number is served through the mount for good.
#include "client/preload/descriptor_table.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>

#include "client/preload/report.h"

namespace s3rdmafs::client {

struct DescriptorEntry {
  enum class Attach : int { kNotTried, kTrying, kDone };

  std::atomic<std::uint64_t> word{0};
  dev_t device = 0;
  std::uint64_t inode = 0;
  std::atomic<Attach> attach{Attach::kNotTried};
  std::shared_ptr<AttachedFile> file;  // set by the thread that tries, before kDone

  /// Whether the descriptor is of this file still.
  [[nodiscard]] bool is_of(int fd) const;
};

namespace {

constexpr std::uint64_t kOpen = std::uint64_t{1} << 63;
constexpr std::uint64_t kLost = std::uint64_t{1} << 62;
// Longer than any copy of a part that is there; a read that waits for the server is waited for by
// a close that a program should not make.
constexpr std::chrono::milliseconds kReadersTime{200};

dev_t device_of(const struct statx& found) {
  return (static_cast<dev_t>(found.stx_dev_major) << 32) | found.stx_dev_minor;
}

// Set once: a kernel does not learn it.
constinit std::atomic<bool> can_compare{true};

}  // namespace

// The duplicate that an attached file has is of the file that open(2) gave, unless code that this
// library does not see has closed both, and given both numbers to one other file. A high number is
// given to a file by name alone (dup2(2)); with a low one the inode tells.
bool DescriptorEntry::is_of(int fd) const {
  if (attach.load(std::memory_order_acquire) == Attach::kDone && file && file->has_high_number() &&
      can_compare.load(std::memory_order_relaxed)) {
    const int answer = sys::have_one_file(fd, file->fd());
    if (answer == 1) return true;
    if (answer < 0 && errno == EINVAL) can_compare = false;
  }
  struct statx found{};
  return sys::stat_of(fd, found) == 0 && found.stx_ino == inode && device_of(found) == device;
}

DescriptorTable::Use::~Use() {
  if (entry_ != nullptr) entry_->word.fetch_sub(1, std::memory_order_release);
}

AttachedFile& DescriptorTable::Use::file() const { return *entry_->file; }

DescriptorTable& DescriptorTable::instance() {
  // Without a destructor that would run before the last read, and without memory until it is used.
  static constinit DescriptorTable table;
  static const int fork_is_noticed = [] {
    table.pid_ = ::getpid();
    return ::pthread_atfork(nullptr, nullptr, [] {
      table.pid_ = ::getpid();
      forget_reads();
    });
  }();
  static_cast<void>(fork_is_noticed);
  return table;
}

bool DescriptorTable::is_own_process() const { return pid_ == ::getpid(); }

void DescriptorTable::opened(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax || !is_own_process()) return;
  leave(fd);  // a close that was not seen
  states_[fd] = serve(fd) ? State::kServed : State::kNotServed;
}

bool DescriptorTable::serve(int fd) {
  struct statx found{};
  if (sys::stat_of(fd, found) != 0 || !S_ISREG(found.stx_mode) || found.stx_dev_major != 0 ||
      found.stx_size < AttachedFile::kBytesMin) {
    return false;
  }
  DescriptorEntry* entry = entries_[fd].load(std::memory_order_acquire);
  if (entry == nullptr) {
    entry = new (std::nothrow) DescriptorEntry;
    if (entry == nullptr) return false;
    entries_[fd].store(entry, std::memory_order_release);
  }
  if ((entry->word & kLost) != 0) return false;
  entry->device = device_of(found);
  entry->inode = found.stx_ino;
  entry->attach = DescriptorEntry::Attach::kNotTried;
  entry->word.fetch_or(kOpen, std::memory_order_release);
  return true;
}

void DescriptorTable::closed(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax || !is_own_process()) return;
  leave(fd);
  states_[fd] = State::kUnknown;
}

void DescriptorTable::leave(int fd) {
  DescriptorEntry* const entry = entries_[fd].load(std::memory_order_acquire);
  if (entry == nullptr) return;
  entry->word.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto end = std::chrono::steady_clock::now() + kReadersTime;
  while (entry->word.load(std::memory_order_acquire) != 0) {
    if ((entry->word & kLost) != 0 || std::chrono::steady_clock::now() > end) {
      entry->word.fetch_or(kLost);
      return;
    }
    ::sched_yield();
  }
  entry->file.reset();
}

void DescriptorTable::closed_range(unsigned first, unsigned last) {
  last = std::min<unsigned>(last, kDescriptorsMax - 1);
  for (unsigned fd = first; fd <= last; ++fd) {
    closed(static_cast<int>(fd));
  }
}

DescriptorTable::Use DescriptorTable::use(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax) return {};
  // Inherited over exec(2), received, or duplicated by a call that this library does not see.
  if (states_[fd].load(std::memory_order_relaxed) == State::kUnknown) opened(fd);
  if (states_[fd].load(std::memory_order_acquire) != State::kServed) return {};
  DescriptorEntry* const entry = entries_[fd].load(std::memory_order_acquire);
  if (entry == nullptr || (entry->word.load(std::memory_order_relaxed) & kOpen) == 0) return {};
  const std::uint64_t word = entry->word.fetch_add(1, std::memory_order_acq_rel);
  Use use(entry);
  if ((word & (kOpen | kLost)) != kOpen) return {};
  if (!entry->is_of(fd)) {
    entry->word.fetch_and(~kOpen, std::memory_order_acq_rel);
    return {};
  }
  auto state = entry->attach.load(std::memory_order_acquire);
  if (state == DescriptorEntry::Attach::kNotTried && !is_own_process()) return {};
  if (state == DescriptorEntry::Attach::kNotTried &&
      entry->attach.compare_exchange_strong(state, DescriptorEntry::Attach::kTrying)) {
    entry->file = AttachedFile::attach(fd);
    if (entry->file && entry->file->reason() != nullptr) {
      note_reason(entry->file->reason());
      entry->file.reset();
    }
    // Others read through the mount meanwhile.
    entry->attach.store(DescriptorEntry::Attach::kDone, std::memory_order_release);
    if (!entry->file) entry->word.fetch_and(~kOpen, std::memory_order_acq_rel);
  } else if (state != DescriptorEntry::Attach::kDone) {
    return {};
  }
  return entry->file ? std::move(use) : Use();
}

}  // namespace s3rdmafs::client
