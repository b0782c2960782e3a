// SPDX-License-Identifier: Apache-2.0
#include "memory/mapped_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace s3rdmafs::memory {

Result<MappedMemory> MappedMemory::map(int fd, std::size_t size_bytes) {
  const std::size_t reserved_bytes = size_bytes + kHugePageBytes;
  void* const reserved =
      ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return fail_errno("reserving addresses for registered memory", errno);
  const auto address = reinterpret_cast<std::uintptr_t>(reserved);
  const std::size_t before_bytes = round_up(address, kHugePageBytes) - address;
  std::byte* const aligned = static_cast<std::byte*>(reserved) + before_bytes;
  void* memory = ::mmap(aligned, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) {
    const int saved_errno = errno;
    ::munmap(reserved, reserved_bytes);
    return fail_errno("mapping registered memory", saved_errno);
  }
  if (before_bytes > 0) ::munmap(reserved, before_bytes);
  ::munmap(aligned + size_bytes, kHugePageBytes - before_bytes);
  return MappedMemory(std::span(static_cast<std::byte*>(memory), size_bytes));
}

MappedMemory::~MappedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

Result<void> MappedMemory::populate(std::string_view size_key) const {
  if (::madvise(bytes_.data(), bytes_.size(), MADV_POPULATE_WRITE) == 0) return {};
  if (errno != EINVAL) {
    return fail_with_advice(ErrorCode::kNoMemory,
                            "the machine (or the control group) has no " +
                                format_size(bytes_.size()) + " left: " + std::strerror(errno),
                            "lower " + std::string(size_key));
  }
  // Before Linux 5.14: a write to each page does the same.
  constexpr std::size_t kSmallPageBytes = 4 * kKiB;
  for (std::size_t at = 0; at < bytes_.size(); at += kSmallPageBytes) {
    *static_cast<volatile std::byte*>(&bytes_[at]) = std::byte{0};
  }
  return {};
}

Result<void> MappedMemory::lock(MemoryLock lock, std::uint64_t budget_bytes,
                                std::string_view size_key) const {
  if (lock == MemoryLock::kOff || ::mlock(bytes_.data(), bytes_.size()) == 0) return {};
  const int saved_errno = errno;
  if (lock == MemoryLock::kTry) return {};
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return fail_with_advice(ErrorCode::kNoMemory,
                          "the locked-memory limit is " + format_size(limit.rlim_cur) + ", and " +
                              std::string(size_key) + " needs " + format_size(budget_bytes) + " (" +
                              std::strerror(saved_errno) + ")",
                          "raise it (ulimit -l, LimitMEMLOCK= in the unit), lower " +
                              std::string(size_key) + ", or set cache.lock = \"try\"");
}

}  // namespace s3rdmafs::memory
