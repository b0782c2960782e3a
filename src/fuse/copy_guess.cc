// SPDX-License-Identifier: Apache-2.0
#include "fuse/copy_guess.h"

#include <fcntl.h>

namespace s3rdmafs::fuse {
namespace {

constexpr std::uint64_t kTimeMask = 0xffff'ffff;

}  // namespace

std::uint64_t CopyGuess::now_ms() const noexcept {
  using std::chrono::milliseconds;
  const auto now = std::chrono::duration_cast<milliseconds>(clock_.now().time_since_epoch());
  return static_cast<std::uint64_t>(now.count()) & kTimeMask;
}

void CopyGuess::on_open_to_read(pid_t thread, vfs::Ino ino) noexcept {
  if (thread == 0) return;  // of a PID namespace that the mount does not see: any of many threads
  const auto id = static_cast<std::uint32_t>(thread);
  Opened& opened = opened_[id % kThreadsMax];
  opened.ino.store(ino, std::memory_order_relaxed);
  opened.by.store(std::uint64_t{id} << 32 | now_ms(), std::memory_order_relaxed);
}

vfs::Ino CopyGuess::just_opened(pid_t thread) const noexcept {
  const auto id = static_cast<std::uint32_t>(thread);
  const Opened& opened = opened_[id % kThreadsMax];
  const std::uint64_t by = opened.by.load(std::memory_order_relaxed);
  const std::uint64_t age_ms = (now_ms() - by) & kTimeMask;
  const bool is_recent = age_ms <= static_cast<std::uint64_t>(kOpenToOpen.count());
  return id != 0 && by >> 32 == id && is_recent ? opened.ino.load(std::memory_order_relaxed) : 0;
}

bool CopyGuess::creates_copy(pid_t thread, int flags) const noexcept {
  return (flags & (O_EXCL | O_TRUNC)) == O_EXCL && just_opened(thread) != 0;
}

bool CopyGuess::replaces_by_copy(pid_t thread, vfs::Ino ino) const noexcept {
  const vfs::Ino source = just_opened(thread);
  return source != 0 && source != ino;
}

}  // namespace s3rdmafs::fuse
